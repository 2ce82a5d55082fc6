CREATE TABLE sites (site_cd VARCHAR, site_nm VARCHAR, region VARCHAR, kwp DOUBLE, commiss_dt DATE, roof VARCHAR, tilt INTEGER);
INSERT INTO sites VALUES
('OAK','Oakfield School','North',42.5,'2018-06-12','Y',30),('RIV','Riverside Depot','South',120,'2019-03-25','Y',10),('HIL','Hilltop Farm','West',65,'2017-09-04','N',35),
('STA','St Anne''s Hospital','South',240,'2020-10-19','Y',15),('MKT','Market Hall','Centre',58,'2021-05-07','Y',20),('MAR','Marsh Lane Warehouse','South',310,'2022-04-28','Y',5),
('BRO','Brookside Nursery','North',18,'2023-08-14','Y',35),('QUA','Quarry Park','West',480,'2024-06-03','N',25),('LAK','Lakeview Library','Centre',36,NULL,'Y',NULL);
CREATE TABLE meters (mtr_id VARCHAR, site_cd VARCHAR, make VARCHAR, inst_dt DATE, decomm_dt DATE);
INSERT INTO meters VALUES
('M-101','OAK','Elcora','2018-06-12',NULL),('M-102','RIV','Elcora','2019-03-25',NULL),('M-103','HIL','Veltron','2017-09-04','2024-11-30'),('M-104','STA','Elcora','2020-10-19',NULL),
('M-105','STA','Elcora','2021-02-01',NULL),('M-106','MKT','Sunwatch','2021-05-07',NULL),('M-107','MAR','Sunwatch','2022-04-28',NULL),('M-108','MAR','Sunwatch','2022-04-28',NULL),
('M-109','BRO','Veltron','2023-08-14',NULL),('M-110','QUA','Sunwatch','2024-06-03',NULL),('M-111','HIL','Sunwatch','2024-12-02',NULL),('M-112','QUA','Elcora','2026-11-03',NULL);
CREATE TABLE readings (mtr_id VARCHAR, dt DATE, kwh DOUBLE, irr DOUBLE, est VARCHAR);
INSERT INTO readings
SELECT mtr_id, dt, CASE WHEN hash(mtr_id,dt,'nul')%45=0 THEN NULL WHEN hash(mtr_id,dt,'zero')%50=1 THEN 0
    ELSE round(cap * irr * (0.72 + (hash(mtr_id,dt,'k')%14)/100.0), 1) END,
  round(irr, 2), CASE WHEN hash(mtr_id,dt,'est')%11=0 THEN 'Y' ELSE 'N' END
FROM (SELECT m.mtr_id, dt, s.kwp / CASE m.site_cd WHEN 'STA' THEN 2 WHEN 'MAR' THEN CASE m.mtr_id WHEN 'M-107' THEN 1.5 ELSE 3 END ELSE 1 END cap,
   greatest(0.25, (3.1 - 2.5*cos(2*pi()*(dayofyear(dt)-172+182)/365.25)) * (0.55 + (hash(dt,'sky')%46)/100.0) * (0.93 + (hash(dt,s.region,'r')%15)/100.0)) irr
  FROM meters m JOIN sites s USING (site_cd), (SELECT (DATE '2024-01-10' + (27*k)::INT)::DATE dt FROM range(0,39) t(k)) d
  WHERE dt >= m.inst_dt AND (m.decomm_dt IS NULL OR dt <= m.decomm_dt) AND dt <= DATE '2026-11-17' AND m.mtr_id <> 'M-112');
CREATE TABLE alert_codes (cd VARCHAR, descr VARCHAR, sev VARCHAR);
INSERT INTO alert_codes VALUES ('GF','Grid fault','high'),('IO','Inverter offline','high'),('LO','Low output','medium'),('CM','Communication lost','low'),('OT','Overtemperature','medium'),('TD','Tamper detected','high'),('FW','Firmware outdated','low');
CREATE TABLE alerts (alert_no INTEGER, mtr_id VARCHAR, cd VARCHAR, raised TIMESTAMP, cleared TIMESTAMP);
INSERT INTO alerts
SELECT row_number() OVER (ORDER BY r, i)::INTEGER, mtr_id, cd, r, CASE WHEN (r > TIMESTAMP '2026-10-20' AND hash(i,'op')%3>0) OR hash(i,'op')%29=0 THEN NULL ELSE
   r + to_minutes(([20,45,90,180,240,360,900,1500,3200,7000][1+(hash(i,'len')%10)::INT] + (hash(i,'l2')%60))::INT) END
FROM (SELECT i, ['M-101','M-102','M-103','M-104','M-105','M-106','M-107','M-107','M-107','M-108','M-110','M-110','M-111','M-102','M-103'][1+(hash(i,'m')%15)::INT] mtr_id,
    ['CM','CM','CM','CM','LO','LO','LO','IO','IO','GF','OT','OT','FW','CM','LO'][1+(hash(i,'c')%15)::INT] cd,
    DATE '2022-01-05'::TIMESTAMP + to_minutes((1780*1440*pow(i/120.0,0.8))::INT + (hash(i,'mi')%900)::INT) r FROM range(1,121) t(i)) x
JOIN meters USING (mtr_id) WHERE r >= inst_dt AND (decomm_dt IS NULL OR r < decomm_dt) AND r < TIMESTAMP '2026-11-17' ;

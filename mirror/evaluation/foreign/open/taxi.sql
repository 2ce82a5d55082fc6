CREATE TABLE zone (code VARCHAR PRIMARY KEY, zone_name VARCHAR);
INSERT INTO zone VALUES ('CTR','City Centre'),('APT','Airport'),('HBR','Harbour'),('UNI','University'),('STN','Central Station'),('NTH','Northside'),('WST','Westfield'),('IND','Industrial Park');

CREATE TABLE driver (drv_id INTEGER PRIMARY KEY, drv_name VARCHAR, dob DATE, hired DATE, left_on DATE, phone VARCHAR, night_shift BOOLEAN);
INSERT INTO driver VALUES
(1,'Yusuf Demir','1979-03-11','2016-05-02',NULL,'0170 5550101',false),(2,'Grzegorz Wilk','1985-10-29','2018-09-17',NULL,'0170 5550102',true),(3,'Angela Petit','1991-01-16','2021-02-01',NULL,'0170 5550103',false),
(4,'Samuel Owusu','1988-07-07','2019-06-24',NULL,NULL,true),(5,'Rita Fernandes','1976-12-03','2014-03-10','2025-06-30','0170 5550105',false),(6,'Mehmet Aslan','1994-05-25','2022-10-12',NULL,'0170 5550106',true),
(7,'Carol Jensen','1969-08-14','2012-01-09',NULL,'0170 5550107',false),(8,'Dmitri Volkov','1983-02-20','2020-07-20','2024-02-29',NULL,true),(9,'Nadia Rahman','1997-09-09','2024-01-15',NULL,'0170 5550109',false),
(10,'Paul Okello','1990-04-04','2024-08-05',NULL,'0170 5550110',true),(11,'Tom Reilly','1962-11-27','2015-11-30',NULL,'0170 5550111',false),(12,'Linh Tran','1999-06-18','2026-11-02',NULL,'0170 5550112',false);

CREATE TABLE cab (plate VARCHAR PRIMARY KEY, make VARCHAR, model VARCHAR, fuel VARCHAR, seats INTEGER, yr INTEGER, odo_km INTEGER);
INSERT INTO cab VALUES
('TX-1042','Toyota','Prius','hybrid',4,2017,287400),('TX-1077','Toyota','Corolla','hybrid',4,2020,164250),('TX-1103','Mercedes','E-Class','diesel',4,2016,341900),('TX-1118','Mercedes','Vito','diesel',8,2019,212300),
('TX-1125','Tesla','Model 3','electric',4,2022,98700),('TX-1126','Tesla','Model Y','electric',4,2023,71250),('TX-1130','Skoda','Octavia','diesel',4,2018,248800),('TX-1139','Toyota','Prius','hybrid',4,2021,120600),
('TX-1144','Hyundai','Ioniq 5','electric',4,2024,39800),('TX-1150','Volkswagen','Caddy','petrol',6,2020,150100),('TX-1157','Skoda','Superb','petrol',4,2025,NULL);

CREATE TABLE ride (ride_id INTEGER PRIMARY KEY, drv_id INTEGER REFERENCES driver(drv_id), plate VARCHAR REFERENCES cab(plate), pickup_ts TIMESTAMP, dropoff_ts TIMESTAMP, from_zone VARCHAR REFERENCES zone(code), to_zone VARCHAR REFERENCES zone(code), dist_km DOUBLE, fare DOUBLE, tip DOUBLE, pax INTEGER);
INSERT INTO ride
WITH a AS (
  SELECT i, DATE '2023-02-01' + floor(1386 * pow(i / 380.0, 0.85))::INTEGER AS d,
    ([7,8,8,9,10,12,13,15,16,17,17,18,18,18,19,20,21,22,22,23,23,0,1,2])[1 + (hash(i, 'hour') % 24)::INTEGER] AS hh, (hash(i, 'min') % 60)::INTEGER AS mm,
    (['CTR','CTR','CTR','CTR','STN','STN','STN','APT','APT','HBR','UNI','NTH','WST','CTR','STN','APT'])[1 + (hash(i, 'from') % 16)::INTEGER] AS fz,
    (['APT','APT','APT','CTR','CTR','STN','HBR','UNI','NTH','WST','WST','APT','CTR','NTH','UNI','IND'])[1 + (hash(i, 'to') % 16)::INTEGER] AS tz
  FROM range(1, 381) t(i)),
b AS (
  SELECT *, CASE WHEN 'APT' IN (fz, tz) AND fz <> tz THEN 14 + (hash(i, 'km') % 160) / 10.0 WHEN fz = tz THEN 1.2 + (hash(i, 'km') % 30) / 10.0 ELSE 2.5 + (hash(i, 'km') % 95) / 10.0 END AS km FROM a),
c AS (
  SELECT *, (4 + floor(km * (1.6 + (hash(i, 'jam') % 10) / 8.0)))::INTEGER AS mins, round(4.2 + km * 2.3 + CASE WHEN hh >= 22 OR hh <= 5 THEN 4 ELSE 0 END, 1) AS f,
    (SELECT arg_min(drv_id, hash(i, drv_id, 'drv') % 1000 / (CASE drv_id WHEN 1 THEN 2.6 WHEN 2 THEN 1.9 WHEN 7 THEN 1.6 WHEN 11 THEN 0.7 ELSE 1.0 END)) FROM driver WHERE hired <= d AND (left_on IS NULL OR left_on >= d) AND drv_id <> 12) AS drv
  FROM b)
SELECT i, drv, (SELECT arg_min(plate, hash(i, plate, drv, 'cab') % 100 + (hash(drv, plate, 'own') % 5) * 22) FROM cab WHERE yr <= year(d) AND plate <> 'TX-1157' AND NOT (drv = 7 AND fuel = 'electric')),
  d::TIMESTAMP + to_minutes(hh * 60 + mm), d::TIMESTAMP + to_minutes(hh * 60 + mm + mins), fz, tz, round(km, 1), f,
  CASE WHEN hash(i, 'tips') % 10 < 4 THEN 0 ELSE round(f * (hash(i, 'tip') % 18) / 100.0 + 0.5, 1) END, (1 + (hash(i, 'pax') % 9) * (hash(i, 'pax2') % 3 = 0)::INTEGER / 3)::INTEGER
FROM c;

CREATE TABLE payment (pay_id INTEGER PRIMARY KEY, ride_id INTEGER REFERENCES ride(ride_id), method VARCHAR, amt DOUBLE, paid_on DATE);
INSERT INTO payment SELECT 5000 + ride_id, ride_id, (['card','card','card','card','cash','cash','cash','app','app','app','app','voucher'])[1 + (hash(ride_id, 'method') % 12)::INTEGER], round(fare + tip, 1), pickup_ts::DATE FROM ride WHERE hash(ride_id, 'unpaid') % 40 <> 7;

CREATE TABLE rating (rating_id INTEGER PRIMARY KEY, ride_id INTEGER REFERENCES ride(ride_id), stars INTEGER, comment VARCHAR);
INSERT INTO rating
SELECT row_number() OVER (ORDER BY ride_id), ride_id, s, CASE WHEN hash(ride_id, 'says') % 3 = 0 THEN (CASE WHEN s >= 4 THEN (['Very friendly','Smooth drive, thanks','On time and clean car','Helped with the luggage'])[1 + (hash(ride_id, 'c') % 4)::INTEGER] WHEN s = 3 THEN 'It was ok' ELSE (['Took a detour','Rude','Drove too fast','Car smelled of smoke'])[1 + (hash(ride_id, 'c') % 4)::INTEGER] END) END
FROM (SELECT ride_id, CASE WHEN drv_id IN (7, 9) THEN ([5,5,5,4,5,4,5,3])[1 + (hash(ride_id, 'st') % 8)::INTEGER] WHEN drv_id IN (2, 8) THEN ([5,4,3,2,1,4,3,2])[1 + (hash(ride_id, 'st') % 8)::INTEGER] ELSE ([5,5,4,4,3,5,4,1,5,2,4,5])[1 + (hash(ride_id, 'st') % 12)::INTEGER] END AS s FROM ride WHERE hash(ride_id, 'rated') % 100 < 47);

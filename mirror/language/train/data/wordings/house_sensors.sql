CREATE TABLE sensors (sensor_id VARCHAR, room VARCHAR, floor VARCHAR, model VARCHAR, installed_on DATE, battery_type VARCHAR, outdoor INTEGER);
INSERT INTO sensors VALUES
 ('s01','kitchen','ground','Aqara WSDCGQ11','2023-02-11','CR2032',0),('s02','living room','ground','Aqara WSDCGQ11','2023-02-11','CR2032',0),
 ('s03','bathroom','first','Aqara WSDCGQ11','2023-05-20','CR2032',0),('s04','main bedroom','first','Sonoff SNZB-02','2023-05-20','CR2450',0),
 ('s05','kids room','first','Sonoff SNZB-02','2024-01-06','CR2450',0),('s06','cellar','basement','Shelly H&T','2024-01-06',NULL,0),
 ('s07','attic','attic','Shelly H&T','2024-09-14','CR123A',0),('s08','garden shed',NULL,'Ecowitt WH31','2024-09-14','AA',1),
 ('s09','greenhouse',NULL,'Ecowitt WH31','2025-03-30','AA',1),('s10','garage','ground','Sonoff SNZB-02','2026-10-30','CR2450',0);
CREATE TABLE readings (ts TIMESTAMP, sensor_id VARCHAR, temp_c DOUBLE, humidity_pct DOUBLE, co2_ppm INTEGER, battery_pct INTEGER, rssi_dbm INTEGER, received_ts TIMESTAMP, alarm VARCHAR);
INSERT INTO readings
SELECT ts, sid, CASE WHEN hash(i,'tn') % 41 = 0 THEN NULL ELSE round(b + amp * cos((month(ts) - 7) * 0.5236) + 2.5 * cos((hour(ts) - 15) * 0.2618) + (hash(i,'t') % 40) / 10.0 - 2, 1) END,
 CASE WHEN hash(i,'hn') % 23 = 0 THEN NULL ELSE round(hb + (hash(i,'h') % 300) / 10.0 - 12, 1) END,
 CASE WHEN sid IN ('s02','s04','s05') THEN CAST(520 + hash(i,'c') % 60 * (hash(i,'c2') % 22) AS INTEGER) END,
 CASE WHEN sid <> 's06' THEN CAST(4 + hash(i,'b') % 96 AS INTEGER) END, CAST(-45 - CAST(hash(i,'r') % 48 AS INTEGER) AS INTEGER),
 ts + to_seconds(CAST(CASE WHEN hash(i,'l') % 9 = 0 THEN 900 + hash(i,'l2') % 9000 ELSE 2 + hash(i,'l3') % 50 END AS BIGINT)),
 CASE WHEN hash(i,'al') % 19 = 0 THEN 'low battery' WHEN hash(i,'al') % 29 = 1 THEN 'mould risk' WHEN b + amp * cos((month(ts) - 7) * 0.5236) < 2.5 AND sid IN ('s07','s08','s09') THEN 'frost' END
FROM (SELECT i, DATE '2025-04-01' + to_hours(CAST((i * 48 + hash(i,'hr') % 48) AS BIGINT)) + to_minutes(CAST(hash(i,'m') % 60 AS BIGINT)) AS ts, CAST(hash(i,'s') % 13 AS INTEGER) AS k FROM range(298) t(i)) q
JOIN (VALUES (0,'s01',21.0,2.0,52.0),(1,'s02',21.5,1.5,48.0),(2,'s03',22.0,1.5,66.0),(3,'s04',18.5,2.0,54.0),(4,'s05',20.0,2.0,50.0),(5,'s06',13.0,3.0,74.0),(6,'s07',16.0,14.0,45.0),(7,'s08',11.0,10.0,70.0),(8,'s09',15.0,11.0,76.0),(9,'s01',20.5,2.0,55.0),(10,'s02',21.0,2.0,47.0),(11,'s03',22.5,2.0,68.0),(12,'s09',14.0,11.0,72.0)) v(k, sid, b, amp, hb) USING (k) ORDER BY ts;

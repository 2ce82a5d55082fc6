CREATE TABLE STATION (STATION_ID INTEGER, STATION_NAME VARCHAR, REGION VARCHAR, ELEV_M INTEGER, SITE VARCHAR, OPENED DATE, CLOSED DATE, OBSERVER_ID INTEGER);
INSERT INTO STATION VALUES
(101,'Gannet Point','Coast',6,'coastal','1978-04-01',NULL,1),(102,'Millbrook','Lowlands',84,'rural','1991-06-15',NULL,2),(103,'Eagle Ridge','Highlands',1420,'mountain','1985-10-01',NULL,3),
(104,'Northfield Airport','Lowlands',61,'airport','1969-01-01',NULL,NULL),(105,'Harrow City Park','Lowlands',112,'urban','2003-03-20',NULL,4),(106,'Salt Harbour','Coast',3,'coastal','2010-08-09',NULL,1),
(107,'Pinewood','Highlands',730,'forest','2012-05-04','2025-03-31',3),(108,'Old Mill Valley','Lakes',245,'rural','1996-09-12',NULL,5),(109,'Lake Ternan','Lakes',198,'lakeside','2016-07-01',NULL,5),
(110,'Stony Pass','Highlands',1985,'mountain','2019-09-30',NULL,NULL),(111,'Cape Morrow','Coast',28,'coastal','1988-02-11','2024-06-30',6),(112,'University Roof','Lowlands',131,'urban','2021-01-18',NULL,4),
(113,'Beacon Hill','Lakes',412,NULL,'2026-10-05',NULL,NULL);
CREATE TABLE OBSERVER (OBSERVER_ID INTEGER, OBSERVER_NAME VARCHAR, PHONE VARCHAR, VOLUNTEER VARCHAR, JOINED DATE);
INSERT INTO OBSERVER VALUES (1,'Moira Kelly','555-0141','Y','2009-05-02'),(2,'Hans Oberlin','555-0178','N','1998-11-20'),(3,'Teresa Dunn','555-0102','N','2014-02-03'),(4,'Ravi Menon',NULL,'Y','2021-01-10'),
(5,'Colin Strand','555-0166','Y','2016-06-18'),(6,'Agnes Whitby','555-0119','Y','2001-07-07'),(7,'Petra Novak','555-0190','Y','2026-08-24');
CREATE TABLE READING (READING_ID INTEGER, STATION_ID INTEGER, DAY DATE, TMAX DOUBLE, TMIN DOUBLE, RAIN_MM DOUBLE, GUST_KMH INTEGER, SUN_H DOUBLE, SNOW_CM INTEGER);
INSERT INTO READING
SELECT i, st, dy, tm, CASE WHEN i % 23 = 7 THEN NULL ELSE round(tm - 4 - (hash(i, 'tn') % 80) / 10.0, 1) END,
  CASE WHEN i % 29 = 3 THEN NULL WHEN hash(i, 'r0') % 5 < 2 THEN 0 ELSE round(pow((hash(i, 'r1') % 1000) / 1000.0, 3) * 58 + 0.2, 1) END,
  (12 + hash(i, 'g1') % 35 + (hash(i, 'g2') % 9) * (hash(i, 'g3') % 9) * (CASE WHEN st IN (101, 103, 106, 110, 111) THEN 1.4 ELSE 0.7 END))::INT,
  CASE WHEN st IN (107, 113) THEN NULL ELSE round((hash(i, 's') % 1000) / 1000.0 * (8 - 4 * cos(6.283 * dayofyear(dy) / 365)), 1) END,
  CASE WHEN tm < 3 THEN (hash(i, 'sn') % 40)::INT WHEN tm < 6 THEN (hash(i, 'sn') % 4)::INT ELSE 0 END
FROM (SELECT i, s.STATION_ID AS st, d AS dy, round(13.5 - 11 * cos(6.283 * (dayofyear(d) - 20) / 365) - s.ELEV_M / 140.0 + (hash(i, 't') % 100) / 10.0 - 4, 1) AS tm
  FROM (SELECT i, [101,101,102,103,104,104,104,105,106,107,108,109,110,111,112,105,104,103,101][1 + (hash(i, 'st') % 19)::INT] AS sid, DATE '2022-01-03' + (i * 6 - (hash(i, 'dd') % 5)::INT)::INT AS d0 FROM range(1, 297) t(i)) x
  JOIN STATION s ON s.STATION_ID = x.sid, LATERAL (SELECT CASE WHEN s.CLOSED < d0 THEN d0 - 1100 ELSE d0 END AS d) y);
CREATE TABLE ALERT (ALERT_ID INTEGER, STATION_ID INTEGER, KIND VARCHAR, LEVEL VARCHAR, ISSUED_AT TIMESTAMP, LIFTED_AT TIMESTAMP);
INSERT INTO ALERT
SELECT i, st, k, ['yellow','yellow','yellow','orange','orange','red'][1 + (hash(i, 'lv') % 6)::INT], a, CASE WHEN i IN (17, 63, 89, 90) THEN NULL ELSE a + to_minutes((90 + hash(i, 'du') % 2400)::INT) END
FROM (SELECT i, [101,101,101,103,103,106,106,110,104,105,108,109,111][1 + (hash(i, 'as') % 13)::INT] AS st, ['storm','storm','heavy rain','heavy rain','frost','heat','fog'][1 + (hash(i, 'ak') % 7)::INT] AS k,
  TIMESTAMP '2022-02-01 05:20:00' + to_hours((i * 462 + hash(i, 'ah') % 300)::INT) + to_minutes((hash(i, 'am') % 60)::INT) AS a FROM range(1, 91) t(i)) q;
CREATE TABLE SENSOR (SENSOR_ID INTEGER, STATION_ID INTEGER, SENSOR_TYPE VARCHAR, MAKER VARCHAR, INSTALLED DATE, LAST_CHECK DATE, PRICE DOUBLE, STATUS VARCHAR);
INSERT INTO SENSOR
SELECT 500 + i, 101 + (i * 5 + i // 12) % 12, ['thermometer','rain gauge','anemometer','barometer','sunshine recorder'][1 + i % 5], ['Vaisala','Vaisala','Thies','Campbell','Lambrecht'][1 + (hash(i, 'mk') % 5)::INT],
  DATE '2014-03-01' + (hash(i, 'in') % 3900)::INT, CASE WHEN i % 7 = 2 THEN NULL ELSE DATE '2026-11-10' - (hash(i, 'lc') % 600)::INT END, [180,240,690,410,1250][1 + i % 5] + 15 * (hash(i, 'pr') % 9)::DOUBLE,
  ['ok','ok','ok','ok','faulty','retired'][1 + (hash(i, 'ss') % 6)::INT]
FROM range(1, 47) t(i);

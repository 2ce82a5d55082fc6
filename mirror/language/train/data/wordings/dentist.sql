CREATE TABLE dentists (dent_id INTEGER PRIMARY KEY, dent_nm VARCHAR, spec VARCHAR, start_dt DATE, days_wk INTEGER);
INSERT INTO dentists VALUES
 (1, 'Dr Priya Raman', 'general', DATE '2014-03-03', 5), (2, 'Dr Owen Blythe', 'general', DATE '2017-09-04', 4),
 (3, 'Dr Katrin Vogel', 'orthodontics', DATE '2019-01-14', 3), (4, 'Dr Samuel Ofori', 'general', DATE '2021-06-07', 5),
 (5, 'Dr Leila Haddad', 'endodontics', DATE '2022-10-03', 2), (6, 'Dr Tom Ferris', 'oral surgery', DATE '2025-02-10', 2),
 (7, 'Dr Mina Castell', 'paediatric', DATE '2026-11-02', NULL);
CREATE TABLE patients (pat_id INTEGER PRIMARY KEY, pat_nm VARCHAR, sex VARCHAR, dob DATE, town VARCHAR, reg_dt DATE, insurer VARCHAR, recall_mths INTEGER, smoker INTEGER);
INSERT INTO patients SELECT i,
 (['Alice','Brian','Chloe','Dominic','Edith','Fergus','Gemma','Harold','Imogen','Jake','Kirsty','Liam','Maureen','Oscar','Nadia','Ravi','Polly','Terence','Sheila','Victor'])[1 + i % 20] || ' ' ||
 (['Abbott','Barlow','Cheung','Doyle','Ellison','Farooq','Grant','Hobbs','Iqbal','Jarvis','Keane','Lomax','Mistry'])[1 + (i * 5) % 13],
 CASE WHEN i = 31 THEN NULL WHEN i % 2 = 0 THEN 'F' ELSE 'M' END,
 CASE WHEN i = 12 THEN NULL ELSE DATE '2021-05-01' - CAST(hash(i, 'dob') % 29500 AS INTEGER) END,
 (['Thornbury','Thornbury','Thornbury','Thornbury','Alveston','Alveston','Yate','Yate','Almondsbury','Berkeley'])[1 + CAST(hash(i, 'town') % 10 AS INTEGER)],
 CASE WHEN i < 42 THEN DATE '2022-12-31' - CAST(hash(i, 'reg') % 2600 AS INTEGER) ELSE DATE '2026-10-20' - CAST(hash(i, 'reg') % 1350 AS INTEGER) END,
 (['Denplan','Denplan','Bupa','AXA','Simplyhealth',NULL,NULL,NULL,NULL,NULL])[1 + CAST(hash(i, 'ins') % 10 AS INTEGER)],
 (CASE WHEN hash(i, 'rec') % 7 = 0 THEN NULL WHEN hash(i, 'rec') % 3 = 0 THEN 12 WHEN hash(i, 'rec') % 5 = 0 THEN 3 ELSE 6 END),
 CASE WHEN i % 17 = 0 THEN NULL WHEN hash(i, 'smk') % 5 = 0 THEN 1 ELSE 0 END FROM range(1, 71) t(i);
CREATE TABLE trts (trt_id INTEGER PRIMARY KEY, trt_nm VARCHAR, cat VARCHAR, list_pr DOUBLE, mins INTEGER);
INSERT INTO trts VALUES (1, 'Check-up', 'preventive', 48, 20), (2, 'Scale and polish', 'preventive', 65, 30), (3, 'X-ray', 'preventive', 22.5, 10), (4, 'White filling', 'restorative', 120, 40),
 (5, 'Amalgam filling', 'restorative', 85, 40), (6, 'Crown', 'restorative', 640, 75), (7, 'Root canal', 'endodontic', 520, 90), (8, 'Extraction', 'surgical', 140, 30),
 (9, 'Wisdom tooth removal', 'surgical', 310, 60), (10, 'Implant', 'surgical', 2350, 120), (11, 'Whitening', 'cosmetic', 295, 60), (12, 'Veneer', 'cosmetic', 580, 75),
 (13, 'Brace fitting', 'orthodontic', 1850, 90), (14, 'Brace adjustment', 'orthodontic', 75, 20), (15, 'Mouth guard', 'preventive', NULL, 20);
CREATE TABLE appts (appt_id INTEGER PRIMARY KEY, pat_id INTEGER REFERENCES patients(pat_id), dent_id INTEGER REFERENCES dentists(dent_id), booked_on DATE, appt_ts TIMESTAMP, status VARCHAR, arrived TIMESTAMP);
INSERT INTO appts SELECT i, p, d, dy - CAST(1 + hash(i, 'lead') % 45 AS INTEGER), ts,
 CASE WHEN ts >= TIMESTAMP '2026-11-18 12:00:00' THEN 'booked' WHEN hash(i, 'st') % 12 = 0 THEN 'no-show' WHEN hash(i, 'st') % 12 = 1 THEN 'cancelled' ELSE 'completed' END,
 CASE WHEN ts >= TIMESTAMP '2026-11-18 12:00:00' OR hash(i, 'st') % 12 < 2 OR i % 29 = 0 THEN NULL ELSE ts + INTERVAL 1 MINUTE * (CAST(hash(i, 'arr') % 30 AS INTEGER) - 18) END
FROM (SELECT *, CAST(dy AS TIMESTAMP) + INTERVAL 1 MINUTE * (480 + 30 * CAST(hash(i, 'slot') % 19 AS INTEGER)) AS ts FROM (SELECT i,
   1 + CAST(66 * pow((hash(i, 'pat') % 1000) / 1000.0, 1.6) AS INTEGER) AS p,
   (CASE WHEN raw < DATE '2025-03-01' THEN [1,1,1,2,2,3,4,4,4,5] ELSE [1,1,1,2,3,3,4,4,5,6] END)[1 + CAST(hash(i, 'den') % 10 AS INTEGER)] AS d,
   CASE WHEN dayofweek(raw) = 0 THEN raw + 1 ELSE raw END AS dy
   FROM (SELECT i, DATE '2026-11-30' - CAST(1420 * pow((hash(i, 'day') % 1000) / 1000.0, 1.3) AS INTEGER) AS raw FROM range(1, 241) t(i))));
CREATE TABLE appt_trts (appt_id INTEGER REFERENCES appts(appt_id), trt_id INTEGER REFERENCES trts(trt_id), tooth INTEGER, charged DOUBLE, PRIMARY KEY (appt_id, trt_id));
INSERT INTO appt_trts SELECT a.appt_id, t.trt_id, CASE WHEN t.cat IN ('preventive','orthodontic') OR t.trt_id = 11 OR a.appt_id % 23 = 0 THEN NULL ELSE 10 * (1 + CAST(hash(a.appt_id, 'q') % 4 AS INTEGER)) + 1 + CAST(hash(a.appt_id, 'tt') % 8 AS INTEGER) END,
 round(coalesce(t.list_pr, 90) * (CASE WHEN hash(a.appt_id, 'disc') % 6 = 0 THEN 0.9 WHEN year(a.appt_ts) < 2025 THEN 0.95 ELSE 1 END), 2)
FROM (SELECT DISTINCT appt_id, appt_ts, CASE WHEN k = 0 THEN (CASE WHEN dent_id = 3 THEN [13,14,14,14,14,1,14,13,14,1,14,14] WHEN dent_id = 5 THEN [7,7,7,6,1,7,3,6,7,7,1,4] WHEN dent_id = 6 THEN [9,9,10,8,8,9,10,8,8,9,8,3] ELSE [1,1,1,1,1,2,2,4,4,5,8,6] END)[1 + CAST(hash(appt_id, 'a') % 12 AS INTEGER)]
   ELSE [2,3,3,2,4,11,15,2,3,12][1 + CAST(hash(appt_id, 'b') % 10 AS INTEGER)] END AS tr FROM appts, range(0, 2) r(k) WHERE status = 'completed' AND (k = 0 OR hash(appt_id, 'c') % 5 < 2)) a JOIN trts t ON t.trt_id = a.tr;
CREATE TABLE pmts (pmt_id INTEGER PRIMARY KEY, appt_id INTEGER REFERENCES appts(appt_id), pmt_dt DATE, amt DOUBLE, meth VARCHAR);
INSERT INTO pmts SELECT row_number() OVER (ORDER BY a.appt_id), a.appt_id, CAST(a.appt_ts AS DATE) + CAST(CASE WHEN hash(a.appt_id, 'pd') % 3 = 0 THEN hash(a.appt_id, 'lag') % 38 ELSE 0 END AS INTEGER),
 sum(x.charged), CASE WHEN a.appt_id % 37 = 0 THEN NULL ELSE (['card','card','card','cash','insurance','bank transfer'])[1 + CAST(hash(a.appt_id, 'm') % 6 AS INTEGER)] END
FROM appts a JOIN appt_trts x USING (appt_id) WHERE hash(a.appt_id, 'paid') % 10 > 0 AND a.appt_ts < TIMESTAMP '2026-10-10' GROUP BY a.appt_id, a.appt_ts;

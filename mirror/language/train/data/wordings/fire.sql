CREATE TABLE stns (stn_id INTEGER PRIMARY KEY, stn_nm VARCHAR, town VARCHAR, open_dt DATE, bays INTEGER, ft INTEGER);
INSERT INTO stns VALUES
 (1, 'Central', 'Wexbridge', '1931-05-01', 6, 1), (2, 'Northgate', 'Wexbridge', '1968-09-14', 3, 1), (3, 'Harbour', 'Port Ellery', '1975-03-20', 4, 1),
 (4, 'Millfield', 'Millfield', '1988-06-11', 2, 0), (5, 'Airfield', 'Stanmoor', '2004-10-02', 4, 1), (6, 'Heathcote', 'Heathcote', NULL, 1, 0),
 (7, 'Southdown', 'Port Ellery', '2019-04-08', 3, 1), (8, 'Larkhill', 'Larkhill', '2026-09-01', 2, 0);
CREATE TABLE crew (ff_id INTEGER PRIMARY KEY, nm VARCHAR, stn_id INTEGER REFERENCES stns(stn_id), rnk VARCHAR, join_dt DATE, dob DATE, vol INTEGER, watch VARCHAR);
INSERT INTO crew
WITH f AS (SELECT ['Alan', 'Bethan', 'Callum', 'Dawn', 'Ewan', 'Fiona', 'Gareth', 'Holly', 'Idris', 'Jodie', 'Kieran', 'Leanne', 'Marcus', 'Nadia', 'Owen', 'Paula', 'Rhys', 'Sonia', 'Trevor', 'Wendy'] AS fn,
 ['Barlow', 'Cooper', 'Dempsey', 'Eccles', 'Firth', 'Grainger', 'Hibbert', 'Ingham', 'Jarvis', 'Kershaw', 'Lomax', 'Mercer', 'Naylor', 'Ormerod', 'Pickles', 'Ridley', 'Sutcliffe'] AS ln)
SELECT i, fn[1 + (i * 7 % 20)] || ' ' || ln[1 + (i * 5 % 17)], CASE WHEN i = 41 THEN NULL ELSE [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 5, 6, 7, 7][1 + (hash(i, 'st') % 16)::INT] END,
 CASE WHEN i IN (1, 9, 17) THEN 'station officer' WHEN i % 7 = 3 THEN 'crew commander' WHEN i % 11 = 5 THEN 'trainee' ELSE 'firefighter' END,
 CASE WHEN i = 30 THEN NULL ELSE DATE '2026-10-20' - (CASE WHEN i % 11 = 5 THEN 30 + i * 7 ELSE 300 + (hash(i, 'j') % 80)::INT * (hash(i, 'jj') % 90)::INT END)::INT END,
 CASE WHEN i % 13 = 0 THEN NULL ELSE DATE '1966-02-11' + (hash(i, 'b') % 13200)::INT END,
 CASE WHEN hash(i, 'v') % 4 = 0 THEN 1 ELSE 0 END, CASE WHEN hash(i, 'wa') % 15 = 0 THEN NULL ELSE ['red', 'blue', 'green', 'white'][1 + (hash(i, 'w') % 4)::INT] END
FROM range(1, 65) t(i), f;
CREATE TABLE vehs (veh_id INTEGER PRIMARY KEY, call_sgn VARCHAR, stn_id INTEGER REFERENCES stns(stn_id), veh_typ VARCHAR, make VARCHAR, yr INTEGER, km INTEGER, next_srv DATE);
INSERT INTO vehs VALUES
 (1, 'C1', 1, 'pump', 'Scania', 2016, 98400, '2026-12-04'), (2, 'C2', 1, 'pump', 'Scania', 2019, 71250, '2027-01-15'), (3, 'C3', 1, 'ladder', 'Magirus', 2014, 42300, '2026-10-30'),
 (4, 'C4', 1, 'command', 'Volkswagen', 2021, 60110, '2027-02-20'), (5, 'N1', 2, 'pump', 'Volvo', 2012, 121900, '2026-11-09'), (6, 'N2', 2, 'rescue', 'Mercedes', 2018, 53700, '2027-03-03'),
 (7, 'H1', 3, 'pump', 'Scania', 2017, 88800, '2026-12-18'), (8, 'H2', 3, 'boat', NULL, 2010, NULL, '2027-04-12'), (9, 'H3', 3, 'tanker', 'MAN', 2009, 66400, '2026-09-25'),
 (10, 'M1', 4, 'pump', 'Volvo', 2008, 104500, '2027-01-08'), (11, 'A1', 5, 'pump', 'Scania', 2022, 31800, '2027-05-06'), (12, 'A2', 5, 'tanker', 'MAN', 2015, 39900, NULL),
 (13, 'A3', 5, 'rescue', 'Mercedes', 2023, 14250, '2027-06-01'), (14, 'T1', 6, 'pump', 'Volvo', 2006, 97200, '2026-11-02'), (15, 'S1', 7, 'pump', 'Scania', 2019, 64300, '2027-02-11'),
 (16, 'S2', 7, 'ladder', 'Magirus', 2020, 22700, '2027-03-19'), (17, 'S3', 7, 'pump', 'Volvo', 2024, 9100, '2027-08-30');
CREATE TABLE incs (inc_no INTEGER PRIMARY KEY, stn_id INTEGER REFERENCES stns(stn_id), typ VARCHAR, prio INTEGER, call_ts TIMESTAMP, arr_ts TIMESTAMP, end_ts TIMESTAMP, injd INTEGER, wtr_l DOUBLE, dmg_eur DOUBLE, false_al INTEGER);
INSERT INTO incs
WITH a AS (SELECT i, [1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 5, 5, 7, 7, 4, 6][1 + (hash(i, 's') % 17)::INT] AS s,
 ['building fire', 'building fire', 'car crash', 'car crash', 'car crash', 'automatic alarm', 'automatic alarm', 'automatic alarm', 'bin fire', 'vehicle fire', 'flooding', 'animal rescue', 'chemical spill', 'grass fire'][1 + (hash(i, 'ty') % 14)::INT] AS ty,
 TIMESTAMP '2023-01-03 04:10:00' + to_minutes((i * 8840 + (hash(i, 'm') % 9000))::BIGINT) AS c FROM range(1, 230) t(i))
SELECT 5000 + i, s, CASE WHEN hash(i, 'tn') % 40 = 0 THEN NULL ELSE ty END, CASE WHEN ty IN ('building fire', 'chemical spill') THEN 1 WHEN ty IN ('car crash', 'vehicle fire', 'grass fire') THEN 2 ELSE 3 END, c,
 CASE WHEN hash(i, 'an') % 30 = 0 THEN NULL ELSE c + to_minutes((4 + hash(i, 'ar') % 9 + CASE WHEN s IN (4, 6) THEN 7 ELSE 0 END)::BIGINT) END,
 CASE WHEN i IN (221, 228, 229) THEN NULL ELSE c + to_minutes((25 + (hash(i, 'e') % 40) * (hash(i, 'ee') % 12))::BIGINT) END,
 CASE WHEN ty = 'car crash' THEN hash(i, 'in') % 4 WHEN ty = 'building fire' THEN (hash(i, 'in') % 7) // 4 WHEN hash(i, 'in') % 9 = 0 THEN NULL ELSE 0 END,
 CASE WHEN ty LIKE '%fire' AND hash(i, 'wt') % 9 > 0 THEN 200 * (1 + (hash(i, 'wa') % 12) * (hash(i, 'wb') % 12)) END,
 CASE WHEN ty = 'building fire' THEN 2500 * (1 + (hash(i, 'd') % 30) * (hash(i, 'dd') % 9)) WHEN ty IN ('car crash', 'vehicle fire') THEN 1000 * (1 + hash(i, 'd') % 20) WHEN ty IN ('flooding', 'chemical spill') THEN 800 * (hash(i, 'd') % 25) END,
 CASE WHEN ty = 'automatic alarm' AND hash(i, 'fa') % 5 > 0 OR ty = 'bin fire' AND hash(i, 'fa') % 6 = 0 THEN 1 ELSE 0 END
FROM a;
CREATE TABLE attnd (att_id INTEGER PRIMARY KEY, inc_no INTEGER REFERENCES incs(inc_no), ff_id INTEGER REFERENCES crew(ff_id), veh_id INTEGER REFERENCES vehs(veh_id), hrs DOUBLE);
INSERT INTO attnd
SELECT row_number() OVER (ORDER BY n.inc_no, c.ff_id), n.inc_no, c.ff_id, (SELECT min(v.veh_id) + (hash(n.inc_no, 'v') % count(*))::INT FROM vehs v WHERE v.stn_id = n.stn_id),
 CASE WHEN n.end_ts IS NOT NULL THEN round(date_diff('minute', n.call_ts, n.end_ts) / 60.0 + 0.5, 1) END
FROM incs n JOIN crew c ON c.stn_id = n.stn_id AND c.join_dt <= n.call_ts::DATE WHERE n.inc_no > 5090 AND c.ff_id NOT IN (12, 33, 50) AND hash(n.inc_no, c.ff_id, 'a') % 16 < 4;

CREATE TABLE garages (garage_id INTEGER PRIMARY KEY, garage_name VARCHAR, district VARCHAR, spaces INTEGER, levels INTEGER, opened_on DATE, hourly_rate DOUBLE, ev_chargers INTEGER, open_all_night BOOLEAN);
INSERT INTO garages VALUES
 (1, 'Central Station', 'Old Town', 620, 6, '1994-05-02', 3.80, 24, true),
 (2, 'Market Square', 'Old Town', 310, 3, '1987-09-14', 4.20, 8, true),
 (3, 'Opera', 'Old Town', 240, 4, '2001-03-30', 4.50, 12, false),
 (4, 'Riverside', 'Harbour', 480, 5, '2009-06-01', 2.90, 16, true),
 (5, 'Ferry Terminal', 'Harbour', 850, 2, '2013-04-20', 2.20, 30, true),
 (6, 'University Hospital', 'Northfield', 540, 5, '1999-11-08', 2.50, 6, true),
 (7, 'Stadium West', 'Westend', 1200, 4, '2006-05-27', 2.00, NULL, false),
 (8, 'Shopping Arcade', 'Westend', 700, 3, '2011-10-13', 1.80, 20, false),
 (9, 'Museum Quarter', 'Northfield', 180, 2, '2018-02-17', 3.20, 18, false),
 (10, 'Airport Road', NULL, 950, 1, '2021-07-05', 1.50, 40, true),
 (11, 'Brewery Lane', 'Harbour', 150, 2, '2026-10-26', 2.90, 10, NULL);
CREATE TABLE attendants (attendant_id INTEGER PRIMARY KEY, full_name VARCHAR, garage_id INTEGER REFERENCES garages(garage_id), shift VARCHAR, hired_on DATE, left_on DATE, hourly_wage DOUBLE);
INSERT INTO attendants VALUES
 (1, 'Milan Horvat', 1, 'day', '2011-03-01', NULL, 17.40), (2, 'Grace Okafor', 1, 'night', '2018-06-15', NULL, 18.90),
 (3, 'Tom Brandt', 2, 'day', '2019-09-02', NULL, 15.80), (4, 'Leila Haddad', 4, 'night', '2020-01-13', NULL, 18.20),
 (5, 'Pavel Novotny', 5, 'day', '2014-04-22', '2025-02-28', 16.90), (6, 'Ruth Ellison', 6, 'day', '2008-10-06', NULL, 19.50),
 (7, 'Sanjay Mehta', 6, 'night', '2022-05-09', NULL, 17.60), (8, 'Carla Fuentes', 7, 'weekend', '2023-08-19', NULL, 14.70),
 (9, 'Nils Bergman', 8, 'day', '2021-11-01', '2026-06-30', 15.20), (10, 'Aoife Brennan', 9, 'weekend', '2024-03-16', NULL, 14.70),
 (11, 'Dorin Popa', 5, 'night', '2025-03-10', NULL, 17.10), (12, 'Hana Sato', NULL, 'day', '2026-11-02', NULL, NULL);
CREATE TABLE permits (permit_id INTEGER PRIMARY KEY, garage_id INTEGER REFERENCES garages(garage_id), holder VARCHAR, holder_kind VARCHAR, plan VARCHAR, monthly_fee DOUBLE, started_on DATE, ended_on DATE);
INSERT INTO permits SELECT 1000 + i, [1,1,2,4,4,5,6,6,6,8,9,3][1 + (hash(i,'g') % 12)::INT],
 CASE WHEN i % 4 = 0 THEN ['Lindner Law','Harbour Freight Co','St Anne Clinic','Bluebird Bakery','Nordbank','Pixelworks'][1 + (hash(i,'b') % 6)::INT]
  ELSE ['Ana','Bo','Chloe','Deniz','Erik','Farah','Gwen','Hugo','Ines','Jonas'][1 + (hash(i,'f') % 10)::INT] || ' ' || ['Keller','Lund','Moreau','Novak','Ortiz','Petrov','Quinn','Rossi'][1 + (hash(i,'l') % 8)::INT] END,
 CASE WHEN i % 4 = 0 THEN 'company' WHEN i % 7 = 1 THEN 'student' WHEN i % 9 = 2 THEN NULL ELSE 'resident' END,
 ['weekdays','all week','all week','nights','reserved bay'][1 + (hash(i,'p') % 5)::INT],
 [95.0,140,140,60,210,120][1 + (hash(i,'m') % 6)::INT] + (i % 3) * 5,
 DATE '2020-01-01' + (hash(i,'s') % 2480)::INT,
 CASE WHEN hash(i,'e') % 5 < 2 THEN LEAST(DATE '2020-01-01' + (hash(i,'s') % 2480)::INT + 60 + (hash(i,'x') % 900)::INT, DATE '2026-10-31') END
FROM (SELECT k::INTEGER AS i FROM range(1, 81) r(k)) t WHERE (hash(i,'s') % 2480)::INT < 2400 OR hash(i,'e') % 5 >= 2;
CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, garage_id INTEGER REFERENCES garages(garage_id), vehicle_type VARCHAR, plate VARCHAR, entered_at TIMESTAMP, left_at TIMESTAMP, amount DOUBLE, paid_by VARCHAR, lost BOOLEAN);
INSERT INTO tickets SELECT 20000 + i, g, v, p, e, CASE WHEN i > 291 AND i % 2 = 0 THEN NULL ELSE e + INTERVAL 1 MINUTE * m END,
 CASE WHEN i > 291 AND i % 2 = 0 THEN NULL WHEN lo THEN 35.0 ELSE round(r * ceil(m / 60.0), 2) END,
 CASE WHEN i > 291 AND i % 2 = 0 THEN NULL ELSE ['card','card','card','app','app','cash','cash','voucher'][1 + (hash(i,'pay') % 8)::INT] END, lo
FROM (SELECT i, [1,1,1,1,5,5,5,2,2,4,4,6,6,6,8,8,3,9,7,10][1 + (hash(i,'g') % 20)::INT] AS g,
 ['car','car','car','car','car','van','motorbike','car','electric car',NULL][1 + (hash(i,'v') % 10)::INT] AS v,
 chr(65 + (hash(hash(i,'pl') % 140,'a') % 26)::INT) || chr(65 + (hash(hash(i,'pl') % 140,'b') % 26)::INT) || '-' || (100 + (hash(hash(i,'pl') % 140,'c') % 900)::INT) AS p,
 TIMESTAMP '2023-01-03 00:00:00' + INTERVAL 1 DAY * (i * 1415 // 300)::INT + INTERVAL 1 MINUTE * (360 + (hash(i,'t') % 1020)::INT) AS e,
 CASE WHEN hash(i,'d') % 12 = 0 THEN 1500 + (hash(i,'w') % 4000)::INT ELSE 18 + (hash(i,'w') % 420)::INT END AS m,
 hash(i,'lo') % 19 = 0 AS lo FROM (SELECT k::INTEGER AS i FROM range(1, 301) r(k)) t) x JOIN (SELECT garage_id AS gid, hourly_rate AS r FROM garages) y ON x.g = y.gid;
CREATE TABLE incidents (incident_id INTEGER PRIMARY KEY, garage_id INTEGER REFERENCES garages(garage_id), attendant_id INTEGER REFERENCES attendants(attendant_id), kind VARCHAR, reported_on DATE, resolved_on DATE, repair_cost DOUBLE);
INSERT INTO incidents SELECT i, g, a, k, d, CASE WHEN i > 50 OR i = 38 THEN NULL ELSE d + (hash(i,'r') % 30)::INT END,
 CASE WHEN k IN ('noise complaint','theft') OR i > 50 THEN NULL ELSE 60.0 + (hash(i,'c') % 90)::INT * 20 END
FROM (SELECT i, [1,1,1,2,4,5,5,6,7,8,8,9][1 + (hash(i,'ig') % 12)::INT] AS g, CASE WHEN i % 6 = 0 THEN NULL ELSE [1,2,2,2,3,4,6,7,11,10][1 + (hash(i,'ia') % 10)::INT] END AS a,
 ['barrier broken','barrier broken','vandalism','theft','flooding','lift stuck','lift stuck','noise complaint','fender bender'][1 + (hash(i,'k') % 9)::INT] AS k,
 DATE '2023-02-06' + (i * 25) + (hash(i,'id') % 12)::INT AS d FROM (SELECT k::INTEGER AS i FROM range(1, 55) r(k)) t) x;

CREATE TABLE campaigns (camp_id INTEGER, camp_nm VARCHAR, topic VARCHAR, sent_ts TIMESTAMP, subj VARCHAR, cost DOUBLE, disc_pct INTEGER);
INSERT INTO campaigns VALUES
 (1, 'Spring Sale', 'discount', '2024-03-12 09:00:00', 'Spring is here - 20% off', 180.0, 20), (2, 'New Mugs', 'product launch', '2024-05-21 10:30:00', 'Meet our new mugs', 95.0, NULL),
 (3, 'Summer Letter', 'newsletter', '2024-07-04 08:15:00', 'What we read this summer', 60.0, NULL), (4, 'Back to School', 'discount', '2024-08-26 18:00:00', 'Pens, paper and 15% off', 140.0, 15),
 (5, 'Black Friday 24', 'discount', '2024-11-29 06:00:00', 'BLACK FRIDAY: half price until midnight', 320.0, 50), (6, 'Advent Calendar', 'seasonal', '2024-12-01 07:30:00', 'Open the first door', 210.0, 10),
 (7, 'Winter Letter', 'newsletter', '2025-01-16 08:15:00', 'A quiet January', 60.0, NULL), (8, 'We Miss You', 'win-back', '2025-02-20 17:45:00', 'It has been a while...', 110.0, 25),
 (9, 'Easter Tins', 'seasonal', '2025-04-08 09:00:00', 'Tins, eggs and bunnies', 130.0, 10), (10, 'Notebook Launch', 'product launch', '2025-06-03 10:30:00', 'The notebook you asked for', 150.0, NULL),
 (11, 'Autumn Letter', 'newsletter', '2025-09-18 08:15:00', 'Letters from the workshop', 60.0, NULL), (12, 'Black Friday 25', 'discount', '2025-11-28 06:00:00', 'Half price. Really.', 350.0, 50),
 (13, 'Gift Guide', 'seasonal', '2025-12-09 19:00:00', 'Gifts under 30 euros', 190.0, NULL), (14, 'We Miss You 2', 'win-back', '2026-02-24 17:45:00', 'Still friends? 30% off', 110.0, 30),
 (15, 'Garden Range', 'product launch', '2026-04-14 10:30:00', 'Our garden range has arrived', 175.0, NULL), (16, 'Summer Sale', 'discount', '2026-07-10 06:30:00', 'Sale: up to 40% off', 240.0, 40),
 (17, 'October Letter', 'newsletter', '2026-10-15 08:15:00', 'Foggy mornings, new ink', 65.0, NULL), (18, 'Black Friday 26', NULL, NULL, 'Coming soon', NULL, 50);
CREATE TABLE custs (cust_id INTEGER, cust_nm VARCHAR, email VARCHAR, city VARCHAR, segm VARCHAR, signup_dt DATE, unsub_dt DATE, birth_yr INTEGER);
INSERT INTO custs SELECT 100 + i, f || ' ' || l, lower(f) || '.' || lower(l) || i || ['@gmail.com','@gmail.com','@gmx.de','@outlook.com','@proton.me'][1 + (hash(i,'em') % 5)::INT],
 ['Leipzig','Leipzig','Leipzig','Dresden','Dresden','Berlin','Berlin','Halle','Prague',NULL][1 + (hash(i,'ci') % 10)::INT], CASE WHEN i % 16 = 9 THEN NULL ELSE ['regular','regular','regular','vip','trade','newcomer','newcomer'][1 + (hash(i,'se') % 7)::INT] END, s,
 CASE WHEN hash(i,'un') % 6 = 0 AND i < 60 THEN s + 90 + (hash(i,'ud') % 300)::INT END, CASE WHEN hash(i,'by') % 5 = 0 THEN NULL ELSE 1948 + (hash(i,'bz') % 58)::INT END
FROM (SELECT i, ['Anke','Bernd','Carla','Dirk','Eva','Frank','Gisela','Holger','Irina','Jana','Karim'][1 + (i * 4) % 11] AS f, ['Adler','Busch','Ceska','Dietz','Engel','Falk','Groth','Heine','Ilic','Jung','Krause','Lorenz'][1 + (i * 5) % 12] AS l,
 CASE WHEN i < 40 THEN DATE '2022-05-01' + (i * 16) ELSE DATE '2024-02-01' + ((i - 40) * 22) END + (hash(i,'sd') % 14)::INT AS s FROM (SELECT k::INTEGER AS i FROM range(1, 85) r(k)) t) a;
CREATE TABLE sends (send_id INTEGER, camp_id INTEGER, cust_id INTEGER, open_ts TIMESTAMP, click_ts TIMESTAMP, bounced INTEGER, device VARCHAR);
INSERT INTO sends SELECT row_number() OVER (ORDER BY camp_id, cust_id), camp_id, cust_id, CASE WHEN op THEN o END, CASE WHEN op AND hash(camp_id * 1000 + cust_id,'cl') % 10 < 3 THEN o + INTERVAL 1 MINUTE * (1 + (hash(camp_id * 1000 + cust_id,'cm') % 45)::INT) END, bo, CASE WHEN op THEN ['phone','phone','phone','desktop','tablet'][1 + (hash(camp_id * 1000 + cust_id,'dv') % 5)::INT] END
FROM (SELECT c.camp_id, u.cust_id, CASE WHEN hash(c.camp_id * 1000 + u.cust_id,'bo') % 21 = 0 THEN 1 ELSE 0 END AS bo, hash(c.camp_id * 1000 + u.cust_id,'bo') % 21 <> 0 AND hash(c.camp_id * 1000 + u.cust_id,'op') % 100 < CASE c.topic WHEN 'newsletter' THEN 38 WHEN 'discount' THEN 58 WHEN 'win-back' THEN 24 ELSE 47 END AS op,
 c.sent_ts + INTERVAL 1 MINUTE * (3 + (hash(c.camp_id * 1000 + u.cust_id,'om') % 1900)::INT) AS o
 FROM campaigns c JOIN custs u ON u.signup_dt < CAST(c.sent_ts AS DATE) AND (u.unsub_dt IS NULL OR u.unsub_dt > CAST(c.sent_ts AS DATE)) WHERE hash(c.camp_id * 1000 + u.cust_id,'in') % 100 < 32) z;
CREATE TABLE orders (ord_id INTEGER, cust_id INTEGER, camp_id INTEGER, ord_dt DATE, amt DOUBLE, qty INTEGER, channel VARCHAR, returned INTEGER);
INSERT INTO orders SELECT 8000 + i, u.cust_id, CASE WHEN c.camp_id IS NOT NULL AND hash(i,'cc') % 3 < 2 THEN c.camp_id END, d, 6.5 + (hash(i,'am') % 140)::INT * CASE WHEN u.segm = 'trade' THEN 2.5 ELSE 0.7 END, 1 + (hash(i,'q') % 4)::INT + (hash(i,'q2') % 9)::INT // 7 * 6,
 ['web shop','web shop','web shop','store','phone'][1 + (hash(i,'ch') % 5)::INT], CASE WHEN hash(i,'rt') % 12 = 0 THEN 1 ELSE 0 END
FROM (SELECT i, 101 + (hash(i,'u') % 78)::INT AS cu, CASE WHEN i % 3 = 0 THEN make_date(2024 + (i % 2), 11, 27) + (hash(i,'d1') % 26)::INT ELSE DATE '2024-01-05' + (hash(i,'d') % 1040)::INT END AS d FROM (SELECT k::INTEGER AS i FROM range(1, 241) r(k)) t) a
JOIN custs u ON u.cust_id = a.cu AND u.signup_dt <= a.d LEFT JOIN (SELECT d2, max(camp_id) AS camp_id FROM (SELECT CAST(sent_ts AS DATE) + n::INT AS d2, camp_id FROM campaigns, range(0, 8) r(n)) GROUP BY d2) c ON c.d2 = a.d ORDER BY i;

CREATE TABLE GUESTS (GUEST_ID INTEGER PRIMARY KEY, GUEST_NAME VARCHAR, COUNTRY VARCHAR, BIRTH_DATE DATE, ABILITY VARCHAR, REGISTERED DATE);
INSERT INTO GUESTS SELECT i, ['Lukas','Marie','Jan','Chiara','Olivier','Petra','Sven','Katie','Bram','Zofia','Matteo'][1 + (hash(i,'f') % 11)::INT] || ' ' || ['Aigner','Bakker','Conti','Dvorak','Evans','Favre','Gruber','Hoffmann','Ivarsson','Janssen','Kern','Leitner','Mazur'][1 + (i * 4 + i // 13) % 13],
 ['Austria','Austria','Germany','Germany','Germany','Netherlands','Netherlands','Italy','Switzerland','United Kingdom','Poland',NULL][1 + (hash(i,'c') % 12)::INT],
 CASE WHEN i % 14 = 5 THEN NULL ELSE DATE '1950-03-01' + (hash(i,'b') % 24500)::INT END, CASE WHEN i % 11 = 4 THEN NULL ELSE ['beginner','beginner','intermediate','intermediate','intermediate','advanced','expert'][1 + (hash(i,'a') % 7)::INT] END,
 DATE '2022-11-20' + (i * 20) + (hash(i,'r') % 15)::INT
FROM (SELECT k::INTEGER AS i FROM range(1, 73) r(k)) t;
CREATE TABLE PASSES (PASS_NO INTEGER PRIMARY KEY, GUEST_ID INTEGER REFERENCES GUESTS(GUEST_ID), PASS_TYPE VARCHAR, FIRST_DAY DATE, DAYS INTEGER, PRICE DOUBLE, SOLD_AT VARCHAR, REFUNDED BOOLEAN);
INSERT INTO PASSES SELECT 5000 + i, g, ty, d, CASE ty WHEN 'day' THEN 1 WHEN 'half day' THEN 1 WHEN 'week' THEN 6 + (i % 2) WHEN 'weekend' THEN 2 ELSE 150 END,
 CASE ty WHEN 'day' THEN 62.0 WHEN 'half day' THEN 44.0 WHEN 'week' THEN 318.0 + (i % 2) * 38 WHEN 'weekend' THEN 112.0 ELSE 690.0 END + (year(d) - 2022) * 3,
 ['online','online','online','ticket window','ticket window','hotel',NULL][1 + (hash(i,'sa') % 7)::INT], hash(i,'rf') % 17 = 0
FROM (SELECT i, g, ty, CASE WHEN ty = 'season' THEN make_date(2022 + y, 11, 28) ELSE make_date(2022 + y, 12, 3) + (hash(i,'d') % 128)::INT END AS d
 FROM (SELECT i, 1 + (hash(i,'g') % 68)::INT AS g, ['day','day','day','half day','week','week','week','weekend','weekend','season'][1 + (hash(i,'t') % 10)::INT] AS ty, (hash(i,'y') % 4)::INT AS y FROM (SELECT k::INTEGER AS i FROM range(1, 131) r(k)) t) a) b;
CREATE TABLE LIFTS (LIFT_ID INTEGER PRIMARY KEY, LIFT_NAME VARCHAR, LIFT_TYPE VARCHAR, BUILT INTEGER, LENGTH_M INTEGER, VERTICAL_M INTEGER, CAPACITY_PER_HOUR INTEGER, HEATED_SEATS BOOLEAN);
INSERT INTO LIFTS VALUES
 (1, 'Sonnkar Gondola', 'gondola', 2014, 3150, 890, 2800, true), (2, 'Hochalm Six', 'chairlift', 2019, 1840, 520, 3200, true), (3, 'Steinbock', 'chairlift', 2003, 1420, 460, 1800, false),
 (4, 'Murmel', 'magic carpet', 2016, 120, 14, 900, NULL), (5, 'Eagle Express', 'chairlift', 2022, 2260, 640, 3000, true), (6, 'Old Mill', 't-bar', 1978, 780, 190, 720, false),
 (7, 'Glacier Tram', 'cable car', 1991, 2740, 1130, 850, false), (8, 'Birch Slope', 't-bar', 1985, 640, 150, 720, false), (9, 'Family Four', 'chairlift', 1998, 980, 240, 1500, false),
 (10, 'Bambi', 'magic carpet', 2023, 95, 11, 900, NULL), (11, 'North Face', 'chairlift', 2026, 1990, 710, 2600, true);
CREATE TABLE RIDES (RIDE_ID INTEGER PRIMARY KEY, PASS_NO INTEGER REFERENCES PASSES(PASS_NO), LIFT_ID INTEGER REFERENCES LIFTS(LIFT_ID), SCANNED_AT TIMESTAMP, WAIT_MIN INTEGER);
INSERT INTO RIDES SELECT i, p.PASS_NO, [1,1,1,1,2,2,2,5,5,5,3,3,9,9,4,4,7,6][1 + (hash(i,'l') % 18)::INT],
 p.FIRST_DAY + INTERVAL 1 DAY * LEAST((hash(i,'dd') % p.DAYS)::INT, 120) + INTERVAL 1 MINUTE * (510 + (hash(i,'m') % 460)::INT), CASE WHEN i % 19 = 0 THEN NULL ELSE (hash(i,'w') % 9)::INT * (hash(i,'w2') % 5)::INT END
FROM (SELECT k::INTEGER AS i FROM range(1, 281) r(k)) t JOIN PASSES p ON p.PASS_NO = 5001 + (hash(i,'p') % 118)::INT WHERE NOT p.REFUNDED;
CREATE TABLE GEAR (ITEM_NO INTEGER PRIMARY KEY, MODEL VARCHAR, KIND VARCHAR, BRAND VARCHAR, DAILY_RATE DOUBLE, COST DOUBLE, PURCHASED DATE, RETIRED DATE);
INSERT INTO GEAR SELECT 900 + i, k || ' ' || b || ' ' || (150 + (i * 5) % 40), k, CASE WHEN i % 13 = 7 THEN NULL ELSE b END,
 CASE k WHEN 'skis' THEN 26.0 WHEN 'snowboard' THEN 28.0 WHEN 'boots' THEN 14.0 WHEN 'sled' THEN 9.0 ELSE 7.0 END + (i % 3) * 2,
 CASE k WHEN 'skis' THEN 420.0 WHEN 'snowboard' THEN 390.0 WHEN 'boots' THEN 230.0 WHEN 'sled' THEN 85.0 ELSE 75.0 END + (hash(i,'co') % 12)::INT * 10, DATE '2020-10-10' + (i * 46),
 CASE WHEN i < 16 AND i % 3 = 0 THEN DATE '2024-04-15' + (i * 20) END
FROM (SELECT i, ['skis','skis','snowboard','boots','helmet','boots','sled'][1 + i % 7] AS k, ['Atomic','Fischer','Head','Burton','Salomon'][1 + (hash(i,'b') % 5)::INT] AS b FROM (SELECT k::INTEGER AS i FROM range(1, 46) r(k)) t) a;
CREATE TABLE RENTALS (RENTAL_NO INTEGER PRIMARY KEY, GUEST_ID INTEGER REFERENCES GUESTS(GUEST_ID), ITEM_NO INTEGER REFERENCES GEAR(ITEM_NO), PICKED_UP DATE, DUE_BACK DATE, BROUGHT_BACK DATE, CHARGE DOUBLE, DAMAGED BOOLEAN);
INSERT INTO RENTALS SELECT 100 + i, g, it, d, d + n, CASE WHEN i IN (31, 88, 117) THEN NULL ELSE d + n + CASE WHEN hash(i,'la') % 5 = 0 THEN 1 + (hash(i,'lb') % 3)::INT ELSE 0 END END, r.DAILY_RATE * n, hash(i,'da') % 11 = 0
FROM (SELECT i, 1 + (hash(i,'rg') % 60)::INT AS g, 901 + (hash(i,'ri') % 42)::INT AS it, make_date(2022 + (hash(i,'ry') % 4)::INT, 12, 5) + (hash(i,'rd') % 118)::INT AS d, 1 + (hash(i,'rn') % 7)::INT AS n FROM (SELECT k::INTEGER AS i FROM range(1, 131) r(k)) t) a JOIN GEAR r ON r.ITEM_NO = a.it;

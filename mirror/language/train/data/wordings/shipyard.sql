CREATE TABLE HULLS (HULL_NO INTEGER PRIMARY KEY, SHIP_NM VARCHAR, TYPE VARCHAR, OWNER VARCHAR, LOA_M DOUBLE, DWT INTEGER, CLASS_SOC VARCHAR, PRICE_MEUR DOUBLE, CONTRACT_DT DATE, KEEL_DT DATE, LAUNCH_DT DATE, DELIV_DT DATE);
INSERT INTO HULLS VALUES
 (301, 'Nordlys Pioneer', 'ferry', 'Fjordline Rederi', 98.4, 1250, 'DNV', 41.5, DATE '2021-03-02', DATE '2021-09-14', DATE '2022-05-20', DATE '2022-11-03'),
 (302, 'Baltic Heron', 'tug', 'Svitzer Gdynia', 32.1, 180, 'BV', 9.8, DATE '2021-08-19', DATE '2022-01-10', DATE '2022-07-08', DATE '2022-09-29'),
 (303, 'Baltic Osprey', 'tug', 'Svitzer Gdynia', 32.1, 180, 'BV', 9.6, DATE '2021-08-19', DATE '2022-03-07', DATE '2022-09-30', DATE '2022-12-15'),
 (304, 'Maria Helena', 'trawler', 'Pescas do Norte', 64.7, 890, 'RINA', 22.3, DATE '2022-02-11', DATE '2022-08-29', DATE '2023-04-14', DATE '2023-09-08'),
 (305, 'Kapitan Wolski', 'dredger', 'Port of Szczecin', 88.0, 3400, 'DNV', 37.0, DATE '2022-06-30', DATE '2023-01-16', DATE '2023-10-27', DATE '2024-05-17'),
 (306, 'Nordlys Voyager', 'ferry', 'Fjordline Rederi', 112.6, 1480, 'DNV', 52.9, DATE '2022-11-08', DATE '2023-05-22', DATE '2024-03-15', DATE '2024-10-11'),
 (307, 'Sea Anvil', 'offshore supply', 'Anvil Marine', 84.3, 4200, 'LR', 46.2, DATE '2023-04-24', DATE '2023-11-06', DATE '2024-08-23', DATE '2025-03-28'),
 (308, 'Sea Hammer', 'offshore supply', 'Anvil Marine', 84.3, 4200, 'LR', 45.1, DATE '2023-04-24', DATE '2024-02-12', DATE '2024-12-06', DATE '2025-08-15'),
 (309, 'Isla Verde', 'ferry', 'Naviera Canaria', 76.5, 940, 'RINA', 33.4, DATE '2024-01-18', DATE '2024-07-15', DATE '2025-05-09', DATE '2025-12-19'),
 (310, 'Baltic Kestrel', 'tug', 'Svitzer Gdynia', 34.8, 205, 'BV', 11.9, DATE '2024-09-05', DATE '2025-02-03', DATE '2025-09-26', DATE '2026-01-30'),
 (311, 'Grimsey', 'trawler', 'Pescas do Norte', 71.2, 1020, 'DNV', 27.7, DATE '2025-01-27', DATE '2025-08-11', DATE '2026-06-05', NULL),
 (312, 'Windlift One', 'offshore supply', 'Havvind AS', 131.0, 7600, 'DNV', 88.5, DATE '2025-05-15', DATE '2026-01-12', NULL, NULL),
 (313, 'Windlift Two', 'offshore supply', 'Havvind AS', 131.0, 7600, 'DNV', 86.0, DATE '2025-05-15', DATE '2026-09-07', NULL, NULL),
 (314, 'Unnamed Ferry 314', 'ferry', 'Naviera Canaria', 79.0, NULL, NULL, 35.8, DATE '2026-10-13', NULL, NULL, NULL);
CREATE TABLE WELDERS (WELDER_ID INTEGER PRIMARY KEY, WELDER_NM VARCHAR, HOME VARCHAR, CERT_GRADE VARCHAR, CERT_EXP DATE, HIRED DATE, LEFT_DT DATE, RATE_EUR DOUBLE, AGENCY BOOLEAN);
INSERT INTO WELDERS SELECT i, (['Piotr','Marek','Andrei','Ines','Kacper','Tomasz','Oleh','Vasile','Jana','Bartosz','Rui','Agnieszka'])[1 + i % 12] || ' ' || (['Nowak','Kowal','Popescu','Zielinski','Shevchenko','Duarte','Wrona'])[1 + (i * 3) % 7],
 (['Poland','Poland','Poland','Romania','Ukraine','Portugal'])[1 + CAST(hash(i, 'h') % 6 AS INTEGER)], (['H-L045','PF','PF','PB','PC',NULL])[1 + CAST(hash(i, 'g') % 6 AS INTEGER)],
 CASE WHEN i % 9 <> 4 THEN DATE '2026-06-01' + CAST(hash(i, 'x') % 900 AS INTEGER) END, DATE '2026-08-31' - CAST(hash(i, 'd') % 4200 AS INTEGER) - 60,
 CASE WHEN i IN (5, 13, 22) THEN DATE '2026-08-31' - CAST(hash(i, 'l') % 200 AS INTEGER) + 20 END, 17 + (hash(i, 'r') % 25) * 0.5, i % 4 = 1 FROM range(1, 27) t(i);
CREATE TABLE WORK_ORDERS (WO_NO INTEGER PRIMARY KEY, HULL_NO INTEGER REFERENCES HULLS(HULL_NO), TRADE VARCHAR, ZONE VARCHAR, PRIO INTEGER, OPENED DATE, DUE DATE, CLOSED DATE, EST_HRS INTEGER, ACT_HRS INTEGER);
INSERT INTO WORK_ORDERS SELECT 4000 + i, 301 + CAST(13 * pow((hash(i, 'hu') % 1000) / 1000.0, 0.7) AS INTEGER) % 13, (['steel','steel','steel','piping','piping','electrical','outfitting','paint'])[1 + CAST(hash(i, 't') % 8 AS INTEGER)],
 (['engine room','engine room','forepeak','double bottom','superstructure','car deck','aft'])[1 + CAST(hash(i, 'z') % 7 AS INTEGER)], 1 + CAST(hash(i, 'p') % 4 AS INTEGER), o, o + 14 + CAST(hash(i, 'du') % 40 AS INTEGER),
 CASE WHEN hash(i, 'cl') % 9 > 0 AND o + 6 + CAST(hash(i, 'c2') % 70 AS INTEGER) < DATE '2026-11-16' THEN o + 6 + CAST(hash(i, 'c2') % 70 AS INTEGER) END, 20 + 10 * CAST(hash(i, 'e') % 30 AS INTEGER),
 CASE WHEN i % 13 <> 6 THEN 15 + CAST(hash(i, 'a') % 360 AS INTEGER) END
 FROM (SELECT i, DATE '2022-02-01' + CAST(i * 12.4 AS INTEGER) AS o FROM range(1, 141) t(i));
CREATE TABLE WELDS (WELD_NO INTEGER PRIMARY KEY, WO_NO INTEGER REFERENCES WORK_ORDERS(WO_NO), WELDER_ID INTEGER REFERENCES WELDERS(WELDER_ID), PROCESS VARCHAR, LEN_M DOUBLE, WELDED_ON DATE, NDT VARCHAR, NDT_DT DATE, REWORK BOOLEAN);
INSERT INTO WELDS SELECT 90000 + i, 4001 + CAST(i * 0.465 AS INTEGER), CASE WHEN i % 37 <> 5 THEN 1 + CAST(22 * pow((hash(i, 'w') % 1000) / 1000.0, 1.5) AS INTEGER) END, (['FCAW','FCAW','FCAW','SMAW','SMAW','SAW','TIG'])[1 + CAST(hash(i, 'pr') % 7 AS INTEGER)],
 0.5 + (hash(i, 'len') % 180) / 10.0, d, (['pass','pass','pass','pass','pass','fail','fail',NULL])[n], CASE WHEN n < 8 THEN d + 1 + CAST(hash(i, 'nd') % 12 AS INTEGER) END, n IN (6, 7) AND i % 3 > 0
 FROM (SELECT i, 1 + CAST(hash(i, 'nn') % 8 AS INTEGER) AS n, DATE '2022-02-10' + CAST(i * 5.78 AS INTEGER) AS d FROM range(1, 299) t(i));

CREATE TABLE "Fields" ("Field No" INTEGER PRIMARY KEY, "Field Name" VARCHAR, "Area ha" DOUBLE, "Soil" VARCHAR, "Irrigated" BOOLEAN, "Rented From" VARCHAR);
INSERT INTO "Fields" VALUES
 (1, 'Mill Meadow', 12.4, 'loam', true, NULL),
 (2, 'Long Acre', 18.9, 'loam', false, NULL),
 (3, 'Church Field', 7.2, 'clay', false, 'Parish of St Mary'),
 (4, 'Crow Hill', 22.5, 'clay', false, NULL),
 (5, 'River Bottom', 15.1, 'sand', true, NULL),
 (6, 'Gallows Piece', 9.8, 'sand', false, 'Mrs Thornbury'),
 (7, 'Upper Barrow', 26.3, 'loam', false, NULL),
 (8, 'Lower Barrow', 19.7, 'loam', true, NULL),
 (9, 'Fox Covert', 5.6, 'clay', false, NULL),
 (10, 'Railway Side', 11.0, 'sand', true, 'Network Rail'),
 (11, 'Hundred Acre', 40.5, 'loam', false, NULL),
 (12, 'Orchard Close', 3.9, 'loam', true, NULL),
 (13, 'Windy Ridge', 14.2, 'chalk', false, 'Mrs Thornbury'),
 (14, 'Pond Strip', 1.8, NULL, false, NULL);
CREATE TABLE "Crops" ("Crop Code" VARCHAR PRIMARY KEY, "Crop" VARCHAR, "Family" VARCHAR, "Price per t" DOUBLE);
INSERT INTO "Crops" VALUES ('WW', 'Winter Wheat', 'cereal', 212), ('SB', 'Spring Barley', 'cereal', 188), ('OA', 'Oats', 'cereal', 201), ('OR', 'Oilseed Rape', 'oilseed', 415), ('PO', 'Potatoes', 'root', 165), ('BE', 'Sugar Beet', 'root', 33), ('PE', 'Peas', 'legume', 236), ('MA', 'Maize', 'cereal', 49), ('LU', 'Lupins', 'legume', 260);
CREATE TABLE "Harvests" ("Harvest No" INTEGER PRIMARY KEY, "Field No" INTEGER REFERENCES "Fields"("Field No"), "Crop Code" VARCHAR REFERENCES "Crops"("Crop Code"), "Harvested On" DATE, "Yield t" DOUBLE, "Moisture %" DOUBLE);
INSERT INTO "Harvests"
SELECT row_number() OVER (ORDER BY d, f), f, cc, d,
 round(area * CASE cc WHEN 'WW' THEN 8.1 WHEN 'SB' THEN 5.9 WHEN 'OA' THEN 5.4 WHEN 'OR' THEN 3.3 WHEN 'PO' THEN 41 WHEN 'BE' THEN 68 WHEN 'PE' THEN 3.9 ELSE 37 END * (0.74 + (CAST(hash(h, 'yl') % 480 AS INTEGER)) / 1000.0) * CASE WHEN y = 2018 OR y = 2022 THEN 0.82 ELSE 1 END * CASE WHEN irr AND cc IN ('PO', 'MA') THEN 1.12 ELSE 1 END, 1),
 CASE WHEN cc IN ('PO', 'BE') OR CAST(hash(h, 'mm') % 11 AS INTEGER) = 0 THEN NULL ELSE round(11.5 + (CAST(hash(h, 'mo') % 75 AS INTEGER)) / 10.0 + CASE WHEN cc = 'MA' THEN 15 ELSE 0 END, 1) END
FROM (SELECT *, make_date(y, CASE cc WHEN 'WW' THEN 8 WHEN 'SB' THEN 8 WHEN 'OA' THEN 8 WHEN 'OR' THEN 7 WHEN 'PO' THEN 9 WHEN 'BE' THEN 10 WHEN 'PE' THEN 7 ELSE 9 END, 3 + CAST(hash(h, 'dd') % 25 AS INTEGER)) AS d
 FROM (SELECT "Field No" AS f, "Area ha" AS area, "Irrigated" AS irr, CAST(g.y AS INTEGER) AS y, "Field No" * 100 + g.y - 2000 AS h,
  CASE WHEN "Soil" = 'clay' THEN (['WW', 'OR', 'WW', 'OA', 'PE'])[1 + ("Field No" + g.y) % 5] WHEN "Soil" = 'sand' THEN (['PO', 'SB', 'BE', 'WW', 'MA'])[1 + ("Field No" * 2 + g.y) % 5] ELSE (['WW', 'PO', 'WW', 'SB', 'OR', 'BE', 'WW'])[1 + ("Field No" * 3 + g.y) % 7] END AS cc
  FROM "Fields", range(2018, 2027) g(y) WHERE "Field No" < 14 AND (CAST(hash("Field No" * 100 + g.y, 'fl') % 9 AS INTEGER) > 0 OR "Field No" = 7))) x;
CREATE TABLE "Machines" ("Machine No" INTEGER PRIMARY KEY, "Machine" VARCHAR, "Type" VARCHAR, "Bought On" DATE, "Purchase Price" DOUBLE, "Sold On" DATE);
INSERT INTO "Machines" VALUES
 (1, 'Fendt 724', 'tractor', DATE '2017-03-14', 168000, NULL),
 (2, 'John Deere 6155R', 'tractor', DATE '2020-10-02', 142500, NULL),
 (3, 'Massey Ferguson 135', 'tractor', DATE '1998-05-20', 4200, NULL),
 (4, 'Claas Lexion 760', 'combine', DATE '2019-06-11', 289000, NULL),
 (5, 'Horsch Leeb', 'sprayer', DATE '2021-02-25', 98000, NULL),
 (6, 'Grimme SE 150', 'potato lifter', DATE '2016-08-01', 87500, NULL),
 (7, 'Manitou MLT', 'loader', DATE '2022-11-30', 76900, NULL),
 (8, 'Case IH Puma', 'tractor', DATE '2012-04-17', 91000, DATE '2023-12-05'),
 (9, 'New Holland CX', 'combine', DATE '2008-07-03', 155000, DATE '2019-07-20');
CREATE TABLE "Workers" ("Worker No" INTEGER PRIMARY KEY, "Name" VARCHAR, "Job" VARCHAR, "Hourly Wage" DOUBLE, "Started" DATE, "Left" DATE);
INSERT INTO "Workers" VALUES
 (1, 'Ted Marlow', 'foreman', 21.50, DATE '2001-09-01', NULL),
 (2, 'Jenny Marlow', 'driver', 17.80, DATE '2010-04-12', NULL),
 (3, 'Piotr Zielinski', 'driver', 17.80, DATE '2016-06-01', NULL),
 (4, 'Brian Cobb', 'labourer', 13.40, DATE '2014-03-17', DATE '2025-03-31'),
 (5, 'Ileana Pop', 'labourer', 13.10, DATE '2022-05-02', NULL),
 (6, 'Vasile Pop', 'labourer', 13.10, DATE '2022-05-02', NULL),
 (7, 'Sam Whitlock', 'apprentice', 9.20, DATE '2025-08-18', NULL),
 (8, 'Harriet Dunne', 'mechanic', 19.60, DATE '2018-01-08', NULL),
 (9, 'Gareth Pugh', 'driver', 16.90, DATE '2019-02-04', DATE '2024-10-25'),
 (10, 'Ewa Nowak', 'office', 16.20, DATE '2020-01-06', NULL);
CREATE TABLE "Work Log" ("Entry" INTEGER PRIMARY KEY, "Worker No" INTEGER REFERENCES "Workers"("Worker No"), "Field No" INTEGER REFERENCES "Fields"("Field No"), "Machine No" INTEGER REFERENCES "Machines"("Machine No"), "Day" DATE, "Task" VARCHAR, "Hours" DOUBLE, "Diesel l" DOUBLE);
INSERT INTO "Work Log"
SELECT row_number() OVER (ORDER BY d, i), w, f, m, d, task, hrs,
 CASE WHEN m IS NULL THEN NULL ELSE round(hrs * CASE m WHEN 1 THEN 21 WHEN 2 THEN 17 WHEN 3 THEN 6 WHEN 4 THEN 38 WHEN 5 THEN 14 WHEN 6 THEN 19 ELSE 9 END * (0.85 + (CAST(hash(i, 'ds') % 300 AS INTEGER)) / 1000.0), 1) END
FROM (SELECT *, (3 + CAST(hash(i, 'hr') % 15 AS INTEGER) * 1.0) / 2 + CASE WHEN task = 'harvesting' THEN 2 ELSE 0 END AS hrs,
 CASE task WHEN 'ploughing' THEN 1 + CAST(hash(i, 'tr') % 2 AS INTEGER) WHEN 'drilling' THEN 1 + CAST(hash(i, 'ts') % 2 AS INTEGER) WHEN 'harvesting' THEN 4 WHEN 'spraying' THEN 5 WHEN 'lifting potatoes' THEN 6 WHEN 'carting' THEN (CASE WHEN CAST(hash(i, 'tt') % 3 AS INTEGER) = 0 THEN 3 ELSE 7 END) ELSE NULL END AS m
 FROM (SELECT *, CASE WHEN w IN (5, 6, 4) AND CAST(hash(i, 'wt') % 10 AS INTEGER) < 8 THEN (['weeding', 'fencing', 'weeding', 'stone picking'])[1 + CAST(hash(i, 'tl') % 4 AS INTEGER)] WHEN month(d) IN (7, 8) THEN (['harvesting', 'harvesting', 'carting', 'spraying'])[1 + CAST(hash(i, 'ta') % 4 AS INTEGER)] WHEN month(d) IN (9, 10) THEN (['lifting potatoes', 'ploughing', 'drilling', 'carting'])[1 + CAST(hash(i, 'tb') % 4 AS INTEGER)] WHEN month(d) IN (11, 12, 1, 2) THEN (['fencing', 'hedge cutting', 'ploughing'])[1 + CAST(hash(i, 'tc') % 3 AS INTEGER)] ELSE (['spraying', 'drilling', 'weeding', 'spraying'])[1 + CAST(hash(i, 'td') % 4 AS INTEGER)] END AS task
  FROM (SELECT i, d0 - CASE WHEN isodow(d0) = 7 THEN 2 + CAST(hash(i, 'sn') % 4 AS INTEGER) ELSE 0 END AS d, f, w
   FROM (SELECT i, CASE WHEN i > 420 THEN DATE '2026-11-02' + CAST(hash(i, 'd1') % 16 AS INTEGER) ELSE DATE '2024-01-08' + CAST(hash(i, 'dy') % 1035 AS INTEGER) END AS d0, 1 + CAST(hash(i, 'fi') % 13 AS INTEGER) AS f,
    CASE WHEN CAST(hash(i, 'wo') % 100 AS INTEGER) < 14 THEN 1 WHEN CAST(hash(i, 'wo') % 100 AS INTEGER) < 36 THEN 2 WHEN CAST(hash(i, 'wo') % 100 AS INTEGER) < 55 THEN 3 WHEN CAST(hash(i, 'wo') % 100 AS INTEGER) < 65 THEN 4 WHEN CAST(hash(i, 'wo') % 100 AS INTEGER) < 76 THEN 5 WHEN CAST(hash(i, 'wo') % 100 AS INTEGER) < 86 THEN 6 WHEN CAST(hash(i, 'wo') % 100 AS INTEGER) < 92 THEN 7 ELSE 9 END AS w FROM range(1, 441) t(i)) a) b) c) e
WHERE EXISTS (SELECT 1 FROM "Workers" k WHERE k."Worker No" = e.w AND e.d >= k."Started" AND (k."Left" IS NULL OR e.d <= k."Left"));

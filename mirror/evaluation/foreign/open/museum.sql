CREATE TABLE exhibits ("Work No" INTEGER, "Title" VARCHAR, "Artist" VARCHAR, "Year Made" INTEGER, "Medium" VARCHAR, "Gallery" VARCHAR, "Insured Value" DOUBLE, "Acquired" DATE);
INSERT INTO exhibits VALUES
(1,'The Weir at Dusk','Clara Whitfield',1887,'Oil on canvas','Blue Room',185000,'1952-04-11'),(2,'Harvest, Evening','Clara Whitfield',1891,'Oil on canvas','Blue Room',210000,'1952-04-11'),(3,'Portrait of a Clockmaker','Jan de Ruyter',1664,'Oil on panel','Old Masters',920000,'1938-10-02'),
(4,'Still Life with Herring','Jan de Ruyter',1659,'Oil on panel','Old Masters',640000,'1961-06-19'),(5,'Study of Hands','Pietro Salvi',1702,'Chalk on paper','Print Cabinet',48000,'1974-03-08'),(6,'Saint with Lamp',NULL,1480,'Tempera on panel','Old Masters',375000,'1929-01-15'),
(7,'Reclining Figure','Agnes Moreau',1934,'Bronze','Sculpture Court',260000,'1966-09-23'),(8,'Dancer No. 2','Agnes Moreau',1938,'Bronze','Sculpture Court',310000,'1966-09-23'),(9,'Head of a Boy','Agnes Moreau',1929,'Bronze','Sculpture Court',120000,'1981-05-05'),
(10,'Dock Workers','Tobias Lund',1952,'Photograph','East Wing',9500,'1998-02-27'),(11,'Morning Shift','Tobias Lund',1954,'Photograph','East Wing',8800,'1998-02-27'),(12,'Crane, Rain','Tobias Lund',1957,'Photograph','East Wing',11200,'2003-11-14'),
(13,'Untitled (Red)','Mina Okabe',1988,'Acrylic on canvas','North Hall',140000,'1995-07-01'),(14,'Untitled (Ash)','Mina Okabe',1990,'Acrylic on canvas','North Hall',132000,'1995-07-01'),(15,'Salt Map','Mina Okabe',2004,'Mixed media','North Hall',88000,'2006-03-30'),
(16,'River Gods','Pietro Salvi',1711,'Oil on canvas','Old Masters',410000,'1947-12-12'),(17,'View of the Old Bridge','Edward Lacey',1823,'Watercolour','Print Cabinet',36000,'1955-08-18'),(18,'Storm over the Estuary','Edward Lacey',1829,'Watercolour','Print Cabinet',42000,'1955-08-18'),
(19,'The Ferry','Edward Lacey',1831,'Oil on canvas','Blue Room',98000,'1979-02-02'),(20,'Girl with Umbrella','Clara Whitfield',1899,'Oil on canvas','Blue Room',275000,'2022-05-16'),(21,'Burial Urn',NULL,-320,'Terracotta','Antiquities',67000,'1911-06-30'),
(22,'Marble Torso',NULL,120,'Marble','Antiquities',540000,'1911-06-30'),(23,'Bronze Fibula',NULL,410,'Bronze','Antiquities',14500,'1926-04-04'),(24,'Mosaic Fragment',NULL,290,'Mosaic','Antiquities',95000,'1933-09-09'),
(25,'Night Bus','Sandra Ekwueme',2017,'Photograph','East Wing',15500,'2019-10-10'),(26,'Market Day, Lagos','Sandra Ekwueme',2019,'Photograph','East Wing',18200,'2023-01-20'),(27,'Kin','Sandra Ekwueme',2021,'Mixed media','North Hall',26000,'2023-01-20'),
(28,'Winter Orchard','Clara Whitfield',1893,'Oil on canvas','Store',150000,'1968-11-11'),(29,'Two Herons','Hoshino Ren',1795,'Woodblock print','Print Cabinet',22000,'1984-04-21'),(30,'Bridge in Snow','Hoshino Ren',1801,'Woodblock print','Print Cabinet',27500,'1984-04-21'),
(31,'The Tea Seller','Hoshino Ren',1798,'Woodblock print','Store',19000,'1990-08-06'),(32,'Flood','Jakub Vesely',2011,'Video','North Hall',NULL,'2014-06-01'),(33,'Seven Chairs','Jakub Vesely',2015,'Mixed media','Store',41000,'2016-09-12'),
(34,'Self-portrait at Forty','Jan de Ruyter',1671,'Oil on canvas','Old Masters',1150000,'2012-12-03'),(35,'Shepherdess',NULL,1755,'Porcelain','Store',7200,'1959-03-17'),(36,'Glasshouse','Mina Okabe',2012,'Mixed media','Store',NULL,'2025-02-14');

CREATE TABLE exhibitions ("Exhibition ID" VARCHAR, "Name" VARCHAR, "Opens" DATE, "Closes" DATE, "Curator" VARCHAR, "Theme" VARCHAR);
INSERT INTO exhibitions VALUES
('EX01','Rivers and Rain','2022-03-05','2022-07-31','Helen Marsh','landscape'),('EX02','Faces of Three Centuries','2022-10-01','2023-01-15','Luis Ortega','portrait'),('EX03','Working Light','2023-03-18','2023-06-25','Priti Shah','photography'),
('EX04','Bronze and Breath','2023-09-09','2024-01-07','Helen Marsh','sculpture'),('EX05','Floating World','2024-02-17','2024-05-19','Kenji Mori','prints'),('EX06','Clara Whitfield: A Life in Colour','2024-06-22','2024-11-03','Helen Marsh','monograph'),
('EX07','Buried Things','2025-01-25','2025-04-27','Luis Ortega','antiquity'),('EX08','Now and Next','2025-06-07','2025-10-12','Priti Shah','contemporary'),('EX09','Old Masters, New Eyes','2025-11-15','2026-03-29','Luis Ortega','portrait'),
('EX10','Water','2026-05-16','2026-09-20','Kenji Mori','landscape'),('EX11','Night Pictures','2026-10-10','2027-01-31','Priti Shah','photography');

CREATE TABLE shown_in ("Exhibition ID" VARCHAR, "Work No" INTEGER);
INSERT INTO shown_in VALUES ('EX01',1),('EX01',17),('EX01',18),('EX01',19),('EX01',16),('EX02',3),('EX02',9),('EX02',20),('EX02',34),('EX03',10),('EX03',11),('EX03',12),('EX03',25),('EX04',7),('EX04',8),('EX04',9),('EX04',23),('EX05',29),('EX05',30),
('EX06',1),('EX06',2),('EX06',20),('EX07',21),('EX07',22),('EX07',23),('EX07',24),('EX08',13),('EX08',14),('EX08',15),('EX08',26),('EX08',27),('EX08',32),('EX09',3),('EX09',4),('EX09',34),('EX09',6),('EX09',27),('EX10',1),('EX10',17),('EX10',18),('EX10',29),('EX10',30),('EX10',32),('EX11',10),('EX11',12),('EX11',25),('EX11',26);

CREATE TABLE visitors ("Visitor No" INTEGER, "Full Name" VARCHAR, "Town" VARCHAR, "Birth Year" INTEGER, "Member Since" DATE);
INSERT INTO visitors VALUES
(1,'Rosemary Tully','Bath','1949','2015-01-12'),(2,'Alan Pike','Bristol','1958','2018-09-03'),(3,'Deborah Finch','Bath','1963','2019-04-22'),(4,'Imran Qureshi','Bristol','1985',NULL),(5,'Saffron Lowe','Frome','1992','2023-06-30'),(6,'Gerald Munn','Wells','1944','2011-05-18'),
(7,'Tess Okonkwo','Bristol','1990',NULL),(8,'Oscar Bell','Bath','2004',NULL),(9,'Joan Trevelyan','Taunton','1955','2020-02-02'),(10,'Kit Harrow','Bristol','1998',NULL),(11,'Maya Lindsay','Cardiff','1981','2022-11-19'),(12,'Ravi Menon','Swindon','1976',NULL),
(13,'Heidi Strand','Bath','1970','2017-07-07'),(14,'Philip Ames','Frome','1961',NULL),(15,'Bea Cartwright','Chippenham','1988',NULL),(16,'Owen Price','Cardiff','1967','2024-03-01'),(17,'Louisa Dent','Bristol','1995',NULL),(18,'Marcus Obi','Bristol','1979','2021-10-25'),
(19,'Fern Abbott','Wells',NULL,NULL),(20,'Harold Sykes','Bath','1938','2010-08-14'),(21,'Nell Brody','Swindon','2001',NULL),(22,'Stephen Cho','Bristol','1983',NULL),(23,'Patience Addo','Cardiff','1972',NULL),(24,'Wilf Garner','Taunton','1951','2016-12-06'),
(25,'Zoe Marlow','Bath','1999',NULL),(26,'Daniel Roth','London','1987',NULL),(27,'Elspeth Graham','London','1960',NULL),(28,'Toby Nash','Frome','2006',NULL),(29,'Cecily Hart',NULL,'1974',NULL),(30,'Arun Patel','Bristol','1969','2025-05-09'),
(31,'Moira Quill','Wells','1953','2021-01-30'),(32,'Jasper Lyle','Bath','1993',NULL),(33,'Hilda Farrow','Bristol','1946','2013-03-03'),(34,'Ned Sparrow','Chippenham',NULL,NULL);

CREATE TABLE tickets ("Ticket No" INTEGER, "Visit Date" DATE, "Exhibition ID" VARCHAR, "Visitor No" INTEGER, "Ticket Type" VARCHAR, "Price" DOUBLE);
INSERT INTO tickets
WITH e AS (SELECT *, row_number() OVER (ORDER BY "Exhibition ID") AS n, ([34,22,28,41,19,62,30,35,44,38,17])[row_number() OVER (ORDER BY "Exhibition ID")::INTEGER] AS sold FROM exhibitions),
t AS (SELECT e."Exhibition ID" AS ex, n, n * 100 + i AS h, "Opens" + (hash(n * 100 + i, 'day') % (least("Closes", DATE '2026-11-17') - "Opens" + 1))::INTEGER AS d FROM e, range(1, 80) r(i) WHERE i <= sold),
u AS (SELECT *, d + CASE WHEN isodow(d) = 1 THEN -1 WHEN isodow(d) IN (3, 4) AND hash(h, 'shift') % 2 = 0 THEN 6 - isodow(d) ELSE 0 END::INTEGER AS vd, (['adult','adult','adult','adult','senior','senior','student','child','child','free'])[1 + (hash(h, 'type') % 10)::INTEGER] AS ty FROM t)
SELECT 20000 + row_number() OVER (ORDER BY least(vd, (SELECT "Closes" FROM exhibitions x WHERE x."Exhibition ID" = ex)), h), least(vd, (SELECT "Closes" FROM exhibitions x WHERE x."Exhibition ID" = ex)), ex,
  CASE WHEN hash(h, 'anon') % 10 < 3 THEN NULL ELSE 1 + floor(pow((hash(h, 'vis') % 1000) / 1000.0, 1.5) * 31)::INTEGER END, ty,
  CASE ty WHEN 'adult' THEN 12 + (n > 5)::INTEGER * 2.5 WHEN 'senior' THEN 9 + (n > 5)::INTEGER * 1.5 WHEN 'student' THEN 7.5 WHEN 'child' THEN 5 ELSE 0 END
FROM u;

CREATE TABLE loans ("Loan No" INTEGER, "Work No" INTEGER, "Borrower" VARCHAR, "Country" VARCHAR, "Left On" DATE, "Due Back" DATE, "Returned On" DATE, "Fee" DOUBLE);
INSERT INTO loans VALUES
(1,3,'Rijkszaal Haarlem','Netherlands','2021-09-01','2022-02-28','2022-02-25',6500),(2,7,'Musée Galliard','France','2022-01-10','2022-05-31','2022-06-09',3000),(3,1,'Tate St Agnes','United Kingdom','2022-09-12','2023-01-31','2023-01-30',NULL),
(4,29,'Ukiyo Hall','Japan','2022-11-01','2023-03-31','2023-03-28',4200),(5,30,'Ukiyo Hall','Japan','2022-11-01','2023-03-31','2023-03-28',4200),(6,16,'Palazzo Verdi','Italy','2023-02-15','2023-08-15','2023-08-20',5800),(7,13,'Kunsthaus Nord','Germany','2023-04-03','2023-09-30','2023-09-29',2500),
(8,34,'Rijkszaal Haarlem','Netherlands','2023-05-20','2023-11-20','2023-11-17',9000),(9,10,'Lagos Photo House','Nigeria','2023-10-01','2024-01-31','2024-02-14',NULL),(10,22,'Antikenhaus Bonn','Germany','2024-01-08','2024-07-08','2024-07-08',7200),(11,3,'Palazzo Verdi','Italy','2024-03-01','2024-08-31','2024-08-27',7000),
(12,8,'Musée Galliard','France','2024-04-15','2024-09-15','2024-09-13',3200),(13,14,'Kunsthaus Nord','Germany','2024-09-01','2025-02-28','2025-03-06',2600),(14,20,'Tate St Agnes','United Kingdom','2025-01-13','2025-05-31','2025-05-30',1500),(15,2,'Tate St Agnes','United Kingdom','2025-01-13','2025-05-31','2025-05-30',1500),
(16,25,'Lagos Photo House','Nigeria','2025-03-20','2025-09-20','2025-09-18',800),(17,7,'Kunsthaus Nord','Germany','2025-10-06','2026-03-31','2026-04-02',3100),(18,16,'Rijkszaal Haarlem','Netherlands','2026-01-19','2026-07-19','2026-07-17',6100),(19,24,'Antikenhaus Bonn','Germany','2026-02-02','2026-08-31',NULL,2900),
(20,13,'Musée Galliard','France','2026-04-20','2026-10-20',NULL,2700),(21,4,'Rijkszaal Haarlem','Netherlands','2026-06-15','2026-12-15',NULL,5600),(22,9,'Kunsthaus Nord','Germany','2026-09-07','2027-02-28',NULL,2000),(23,31,'Ukiyo Hall','Japan','2026-10-12','2027-03-31',NULL,NULL);

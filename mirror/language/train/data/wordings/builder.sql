CREATE TABLE projects (proj_id INTEGER PRIMARY KEY, proj_name VARCHAR, client VARCHAR, city VARCHAR, proj_type VARCHAR, foreman VARCHAR, start_dt DATE, due_dt DATE, finished_dt DATE, contract_val DOUBLE, floor_m2 INTEGER);
INSERT INTO projects VALUES
(1,'Elm Street Flats','Harlow Housing','Leeds','residential','Gary Doyle','2022-02-14','2023-03-31','2023-05-12',2450000,3100),
(2,'St Anne''s Primary School','Leeds Council','Leeds','school','Mick Brennan','2022-04-04','2023-08-15','2023-08-11',3900000,4200),
(3,'Cooper Warehouse','Cooper Logistics','Wakefield','industrial','Dave Tully','2022-06-20','2023-01-31','2023-01-27',1250000,6800),
(4,'Riverside Cottages','Private','York','residential','Gary Doyle','2022-09-05','2023-06-30','2023-09-22',780000,940),
(5,'Northgate Offices','Pennine Estates','Leeds','office','Sheila Marsh','2022-11-07','2024-02-29','2024-06-14',5200000,5600),
(6,'Harrogate Dental Clinic','Smile Group','Harrogate','health','Mick Brennan','2023-01-16','2023-09-29','2023-10-20',640000,520),
(7,'Bishop Barn Conversion','Private','York','residential','Piotr Nowak','2023-03-01','2023-11-30','2024-02-09',415000,310),
(8,'Aire Valley Depot','Cooper Logistics','Leeds','industrial','Dave Tully','2023-04-17','2024-03-29','2024-03-15',2100000,9100),
(9,'Castle Hotel Refit','Grand Stay','York','hotel','Sheila Marsh','2023-06-12','2024-05-31','2024-08-30',3350000,3900),
(10,'Moor Lane Bungalows','Harlow Housing','Bradford','residential','Gary Doyle','2023-09-04','2024-07-31','2024-07-26',1180000,1450),
(11,'Bradford Sixth Form','Bradford Council','Bradford','school','Mick Brennan','2023-11-13','2025-08-20','2025-09-05',6100000,6400),
(12,'Hill Farm Extension','Private','Harrogate','residential','Piotr Nowak','2024-01-22','2024-06-28','2024-06-28',165000,95),
(13,'Wharf Lofts','Pennine Estates','Leeds','residential','Sheila Marsh','2024-03-18','2025-06-30','2025-11-21',4300000,4700),
(14,'Kirkgate Surgery','NHS Yorkshire','Wakefield','health','Mick Brennan','2024-05-07','2025-02-28','2025-02-21',1420000,1100),
(15,'Tadcaster Cold Store','Frosty Foods','Tadcaster','industrial','Dave Tully','2024-08-12','2025-05-30','2025-07-18',2750000,5200),
(16,'Abbey View Houses','Harlow Housing','Leeds','residential','Gary Doyle','2024-10-01','2025-12-19','2026-03-27',3200000,3600),
(17,'Skipton Library Roof','Craven Council','Skipton','public','Piotr Nowak','2025-02-10','2025-07-31','2025-07-25',230000,NULL),
(18,'Mill Road Student Rooms','Pennine Estates','Bradford','residential','Sheila Marsh','2025-03-24','2026-08-31',NULL,5900000,6100),
(19,'Ilkley Care Home','NHS Yorkshire','Ilkley','health','Mick Brennan','2025-06-16','2026-09-30',NULL,3650000,3300),
(20,'Cooper Warehouse 2','Cooper Logistics','Wakefield','industrial','Dave Tully','2025-09-08','2026-06-30','2026-06-26',1600000,7400),
(21,'Minster Tea Rooms','Private','York','hotel','Piotr Nowak','2026-01-12','2026-05-29','2026-07-10',285000,180),
(22,'Leeds Fire Station','Leeds Council','Leeds','public',NULL,'2026-04-20','2027-06-30',NULL,4800000,2900),
(23,'Beck Close Flats','Harlow Housing','Bradford','residential','Gary Doyle','2026-07-06','2027-09-30',NULL,2900000,3000),
(24,'Knaresborough Gym','Fit Factory','Knaresborough','public','Dave Tully','2026-12-01','2027-08-31',NULL,950000,NULL);
CREATE TABLE subs (sub_id INTEGER PRIMARY KEY, sub_name VARCHAR, trade VARCHAR, town VARCHAR, hourly_rate DOUBLE, insured_until DATE, staff_cnt INTEGER, since_dt DATE);
INSERT INTO subs VALUES
(1,'Sparks & Sons','electrical','Leeds',46,'2027-03-31',12,'2015-04-01'),(2,'Aire Plumbing','plumbing','Leeds',44.5,'2026-12-31',8,'2016-09-12'),
(3,'Top Slate Roofing','roofing','Bradford',41,'2027-01-15',9,'2014-02-20'),(4,'Dales Groundworks','groundworks','Skipton',38,'2026-10-31',22,'2013-06-03'),
(5,'Brickhouse Ltd','bricklaying','Wakefield',36.5,'2027-05-31',17,'2017-01-09'),(6,'York Plasterers','plastering','York',34,'2026-09-30',6,'2018-03-19'),
(7,'Clearview Glazing','glazing','Leeds',42,'2027-02-28',7,'2019-05-27'),(8,'Ridings Steel','steelwork','Wakefield',52,'2027-06-30',31,'2012-10-15'),
(9,'Fresh Coat Decorators','painting','Harrogate',29.5,NULL,4,'2020-07-06'),(10,'Oakline Joinery','carpentry','York',39,'2027-04-30',10,'2016-11-21'),
(11,'Volt North','electrical','Bradford',48,'2026-08-31',5,'2022-01-10'),(12,'Pipeworks','plumbing','Harrogate',43,'2027-07-31',3,'2021-08-23'),
(13,'Safe Scaffold','scaffolding','Leeds',35,'2027-01-31',19,'2015-12-07'),(14,'Peak Insulation','insulation','Huddersfield',33,'2026-12-15',6,'2023-02-13'),
(15,'Tileworld','tiling','Leeds',31.5,'2027-03-15',NULL,'2022-05-16'),(16,'Concrete Kings','groundworks','Wakefield',40,'2027-09-30',14,'2023-10-02'),
(17,'Green Roof Co','roofing','Sheffield',45,'2027-08-31',2,'2025-11-03'),(18,'Joist & Beam','carpentry','Bradford',37.5,NULL,5,'2026-03-16');
CREATE TABLE jobs (job_no INTEGER PRIMARY KEY, proj_id INTEGER REFERENCES projects(proj_id), sub_id INTEGER REFERENCES subs(sub_id), began_dt DATE, ended_dt DATE, hrs_quoted INTEGER, hrs_worked INTEGER);
INSERT INTO jobs SELECT row_number() OVER (ORDER BY b, p, s), p, s, b, CASE WHEN b + d > DATE '2026-11-18' THEN NULL ELSE b + d END, q,
  CASE WHEN b + d > DATE '2026-11-18' THEN NULL ELSE q + (hash(i, 'over') % 90)::INT - 30 END
 FROM (SELECT i, 1 + (hash(i, 'proj') % 23)::INT AS p, 1 + least((hash(i, 'sub') % 17)::INT, (hash(i, 'sub2') % 17)::INT) AS s, 40 + (hash(i, 'hq') % 28)::INT * 10 AS q, 8 + (hash(i, 'len') % 60)::INT AS d FROM range(1, 141) t(i)) x
 JOIN LATERAL (SELECT start_dt + 10 + (hash(i, 'off') % 280)::INT AS b FROM projects WHERE proj_id = p) y ON true WHERE b <= DATE '2026-11-16';
CREATE TABLE invoices (inv_no VARCHAR PRIMARY KEY, proj_id INTEGER REFERENCES projects(proj_id), sub_id INTEGER REFERENCES subs(sub_id), inv_dt DATE, due_dt DATE, paid_dt DATE, amt DOUBLE, kind VARCHAR, disputed BOOLEAN);
INSERT INTO invoices SELECT 'B' || (4000 + row_number() OVER (ORDER BY d, i)), p, s, d, d + 30, CASE WHEN d + l > DATE '2026-11-17' OR (hash(i, 'never') % 19 = 0) THEN NULL ELSE d + l END,
  round(900 + (hash(i, 'a') % 97) * (hash(i, 'b') % 97) * 5.5, 2), CASE WHEN hash(i, 'k') % 10 < 5 THEN 'labour' WHEN hash(i, 'k') % 10 < 8 THEN 'materials' WHEN hash(i, 'k') % 10 < 9 THEN 'plant hire' ELSE 'extras' END, hash(i, 'dis') % 14 = 0
 FROM (SELECT i, 1 + (hash(i, 'ip') % 23)::INT AS p, 1 + least((hash(i, 'is') % 17)::INT, (hash(i, 'is2') % 17)::INT) AS s, 12 + (hash(i, 'late') % 45)::INT AS l FROM range(1, 271) t(i)) x
 JOIN LATERAL (SELECT start_dt + 25 + (hash(i, 'io') % 360)::INT AS d FROM projects WHERE proj_id = p) y ON true WHERE d <= DATE '2026-11-16';
CREATE TABLE defects (defect_no INTEGER PRIMARY KEY, proj_id INTEGER REFERENCES projects(proj_id), sub_id INTEGER REFERENCES subs(sub_id), found_dt DATE, fixed_dt DATE, severity VARCHAR, what VARCHAR, cost DOUBLE);
INSERT INTO defects SELECT row_number() OVER (ORDER BY d, i), p, CASE WHEN hash(i, 'nos') % 9 = 0 THEN NULL ELSE 1 + (hash(i, 'ds') % 16)::INT END, d, CASE WHEN d + f > DATE '2026-11-17' OR hash(i, 'open') % 12 = 0 THEN NULL ELSE d + f END,
  CASE WHEN hash(i, 'sev') % 8 < 4 THEN 'minor' WHEN hash(i, 'sev') % 8 < 7 THEN 'major' ELSE 'critical' END, ['leaking roof', 'cracked plaster', 'sticking door', 'faulty wiring', 'damp wall', 'loose tile', 'blocked drain', 'draughty window'][1 + (hash(i, 'w') % 8)::INT],
  CASE WHEN hash(i, 'nc') % 6 = 0 THEN NULL ELSE 60 + (hash(i, 'c1') % 30) * (hash(i, 'c2') % 40) * 5 END
 FROM (SELECT i, 1 + (hash(i, 'dp') % 21)::INT AS p, 3 + (hash(i, 'df') % 70)::INT AS f FROM range(1, 91) t(i)) x
 JOIN LATERAL (SELECT start_dt + 120 + (hash(i, 'do') % 400)::INT AS d FROM projects WHERE proj_id = p) y ON true WHERE d <= DATE '2026-11-16';

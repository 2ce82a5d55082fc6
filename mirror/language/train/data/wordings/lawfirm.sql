CREATE TABLE lawyer (atty_id INTEGER PRIMARY KEY, full_name VARCHAR, level VARCHAR, practice VARCHAR, hired_on DATE, left_on DATE, std_rate DOUBLE, born_on DATE);
INSERT INTO lawyer VALUES
(1,'Margaret Holloway','Partner','Litigation','2006-03-01',NULL,620,'1966-05-14'),(2,'David Rosenthal','Partner','Corporate','2009-09-15',NULL,650,'1970-11-02'),
(3,'Priya Nair','Partner','Employment','2013-01-07',NULL,540,'1978-08-23'),(4,'Tomasz Zielinski','Senior Associate','Litigation','2017-04-03',NULL,410,'1986-02-17'),
(5,'Olivia Grant','Senior Associate','Real Estate','2018-10-01','2025-09-30',395,'1987-12-09'),(6,'Samuel Adeyemi','Associate','Corporate','2021-02-15',NULL,310,'1992-04-30'),
(7,'Chloe Bennett','Associate','Litigation','2022-09-05',NULL,285,'1995-07-11'),(8,'Hiro Tanaka','Associate','Intellectual Property','2020-06-01','2024-12-31',300,'1991-01-26'),
(9,'Isabel Moreno','Associate','Family','2023-03-20',NULL,275,NULL),(10,'Leo Fischer','Trainee','Employment','2025-09-01',NULL,160,'2000-03-05'),
(11,'Grace Okafor','Of Counsel','Intellectual Property','2015-05-11',NULL,540,'1961-10-19'),(12,'Nadia Petrov','Trainee',NULL,'2026-11-02',NULL,160,'2001-06-28'),
(13,'Edward Whitlock','Partner','Family','2003-01-13','2023-06-30',590,'1957-09-08');
CREATE TABLE client (client_id INTEGER PRIMARY KEY, client_name VARCHAR, kind VARCHAR, industry VARCHAR, city VARCHAR, client_since DATE);
INSERT INTO client VALUES
(1,'Delta Freight Ltd','company','Logistics','Bristol','2015-02-10'),(2,'Brightwell Foods','company','Food','Leeds','2018-06-21'),(3,'Anna Kowalska','private',NULL,'Bristol','2023-01-30'),
(4,'Northgate Properties','company','Real estate','Manchester','2012-09-03'),(5,'Caspian Software','company','Technology','London','2019-11-18'),(6,'James Harmon','private',NULL,'Bath','2022-04-12'),
(7,'Meridian Health Trust','public body','Health care','Birmingham','2017-03-27'),(8,'Oakley and Sons','company','Construction','Bristol','2010-05-05'),(9,'Ruth Abernathy','private',NULL,'Cardiff','2024-02-19'),
(10,'Solaris Energy','company','Energy','London','2021-08-16'),(11,'Bath City Council','public body',NULL,'Bath','2016-10-10'),(12,'Victor Lindqvist','private',NULL,'London','2023-09-04'),
(13,'Pennine Textiles','company','Manufacturing','Leeds','2014-01-22'),(14,'Quill Publishing','company','Media','London','2020-03-11'),(15,'Yasmin Farouk','private',NULL,NULL,'2025-05-28'),
(16,'Redwood Hotels','company','Hospitality','Brighton','2022-11-29'),(17,'Titan Robotics','company','Technology','Cambridge','2024-07-15'),(18,'George Mbeki','private',NULL,'Bristol','2026-10-20'),
(19,'Harbour Brewing Co','company','Food','Bristol','2026-03-02'),(20,'Elmwood School','public body','Education','Cardiff','2021-01-11');
CREATE TABLE matter (matter_id INTEGER PRIMARY KEY, matter_name VARCHAR, client_id INTEGER REFERENCES client, lead_atty_id INTEGER REFERENCES lawyer, area VARCHAR, opened_on DATE, closed_on DATE, outcome VARCHAR, fee_type VARCHAR, est_value DOUBLE);
INSERT INTO matter
SELECT id, c.client_name || [' v. Crown Insurance',' - lease dispute',' - share purchase',' - unfair dismissal claim',' v. Lowell',' - trademark filing',' - contract review',' - settlement'][1 + id % 8] || ' ' || (2000 + id),
  m.cl, m.la, ['Litigation','Real Estate','Corporate','Employment','Litigation','Intellectual Property','Corporate','Family'][1 + id % 8], op,
  CASE WHEN id % 10 IN (3, 8) OR op + du > DATE '2026-11-17' THEN NULL ELSE op + du END,
  CASE WHEN id % 10 IN (3, 8) OR op + du > DATE '2026-11-17' THEN NULL ELSE ['won','settled','settled','lost','won','withdrawn','settled'][1 + (hash(id, 'out') % 7)::INT] END,
  ['hourly','hourly','hourly','fixed','contingency'][1 + (hash(id, 'fee') % 5)::INT], CASE WHEN id % 9 = 4 THEN NULL ELSE 5000 * (1 + (hash(id, 'val') % 9) * (1 + hash(id, 'v2') % 9))::DOUBLE END
FROM (SELECT i AS id, 1 + floor(18.9 * pow((hash(i, 'cl') % 1000) / 1000.0, 1.7))::INT AS cl, [1,1,2,3,4,4,5,6,7,11,2,9,13][1 + (hash(i, 'la') % 13)::INT] AS la,
  DATE '2021-02-01' + (i * 26 + (hash(i, 'op') % 20)::INT)::INT AS op, (25 + hash(i, 'du') % 400)::INT AS du FROM range(1, 81) t(i)) m JOIN client c ON c.client_id = m.cl;
CREATE TABLE time_entry (entry_id INTEGER PRIMARY KEY, matter_id INTEGER REFERENCES matter, atty_id INTEGER REFERENCES lawyer, work_date DATE, hrs DOUBLE, activity VARCHAR, billable BOOLEAN, rate DOUBLE);
INSERT INTO time_entry
SELECT e.i, e.m, e.a, LEAST(t.opened_on + e.d, COALESCE(t.closed_on, DATE '2026-11-17')), e.h, e.act, e.b, CASE WHEN e.b THEN l.std_rate * (CASE WHEN e.i % 6 = 0 THEN 0.9 ELSE 1 END) END
FROM (SELECT i, 1 + floor(76 * pow((hash(i, 'mt') % 1000) / 1000.0, 0.8))::INT AS m, [1,4,7,4,2,6,6,3,10,7,5,9,11,8,4,7][1 + (hash(i, 'at') % 16)::INT] AS a, (1 + hash(i, 'wd') % 260)::INT AS d,
  0.25 * (1 + hash(i, 'h1') % 12 + (hash(i, 'h2') % 5) * (hash(i, 'h3') % 5)) AS h, ['research','drafting','drafting','court hearing','client meeting','phone call','phone call','review of documents','travel'][1 + (hash(i, 'ac') % 9)::INT] AS act, hash(i, 'bi') % 7 <> 0 AS b
  FROM range(1, 301) r(i)) e JOIN matter t ON t.matter_id = e.m JOIN lawyer l ON l.atty_id = e.a;
CREATE TABLE invoice (inv_no INTEGER PRIMARY KEY, matter_id INTEGER REFERENCES matter, issued_on DATE, paid_on DATE, amt DOUBLE);
INSERT INTO invoice
SELECT 7000 + i, m.matter_id, d, CASE WHEN i % 8 = 5 OR d + p > DATE '2026-11-17' THEN NULL ELSE d + p END, 250 * (2 + hash(i, 'am') % 20 + (hash(i, 'a2') % 8) * (hash(i, 'a3') % 9))::DOUBLE
FROM (SELECT i, LEAST(t.opened_on + (30 + hash(i, 'is') % 300)::INT, DATE '2026-11-16') AS d, (5 + hash(i, 'pd') % 70)::INT AS p, t.matter_id FROM range(1, 121) r(i) JOIN matter t ON t.matter_id = 1 + (hash(i, 'im') % 72)) m;

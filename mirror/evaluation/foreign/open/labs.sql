CREATE TABLE researcher (researcherId INTEGER PRIMARY KEY, firstName VARCHAR, lastName VARCHAR, role VARCHAR, groupName VARCHAR, joinedOn DATE, leftOn DATE, supervisorId INTEGER REFERENCES researcher(researcherId));
INSERT INTO researcher VALUES
(1,'Ingrid','Halvorsen','Professor','Catalysis','2009-08-01',NULL,NULL),
(2,'Tomasz','Wilk','Professor','Polymers','2013-01-15',NULL,NULL),
(12,'Greta','Lindqvist','Professor','Analytics','2018-04-01',NULL,NULL);
INSERT INTO researcher VALUES
(3,'Amara','Okafor','Postdoc','Catalysis','2022-03-01',NULL,1),
(4,'Jun','Watanabe','Postdoc','Polymers','2021-10-01','2025-09-30',2),
(5,'Lucia','Ferri','PhD student','Catalysis','2022-09-01',NULL,1),
(6,'Piotr','Zielinski','PhD student','Polymers','2023-09-01',NULL,2),
(7,'Hannah','Krause','PhD student','Analytics','2023-02-15',NULL,12),
(9,'Wei','Chen','Technician','Analytics','2016-05-01',NULL,12),
(10,'Fatima','Rahimi','Technician','Catalysis','2019-11-04',NULL,1),
(13,'Mark','Sutter','PhD student','Polymers','2020-09-01','2024-08-31',2);
INSERT INTO researcher VALUES
(8,'Diego','Marin','PhD student','Catalysis','2024-09-01',NULL,3),
(11,'Olu','Adeyemi','Master student','Polymers','2025-09-01',NULL,6),
(14,'Noor','Haddad','Master student','Analytics','2026-10-05',NULL,7);
CREATE TABLE instrument (instrumentId INTEGER PRIMARY KEY, label VARCHAR, kind VARCHAR, room VARCHAR, boughtOn DATE, priceEur DOUBLE, lastCalibrated DATE);
INSERT INTO instrument VALUES
(1,'Bruker 400','NMR','B-101','2014-06-20',385000,'2026-06-02'),(2,'Bruker 600','NMR','B-101','2021-03-11',720000,'2026-09-14'),
(3,'Agilent 1260','HPLC','B-114','2017-09-01',64500,'2025-11-20'),(4,'Shimadzu LC-40','HPLC','B-114','2023-02-17',81200,'2026-03-30'),
(5,'Thermo Q Exactive','Mass spectrometer','B-120','2019-05-28',412000,'2026-08-05'),(6,'Perkin Frontier','FTIR','A-007','2012-10-10',27900,'2024-02-12'),
(7,'Cary 60','UV-Vis','A-007','2015-04-22',18400,NULL),(8,'Mettler XPR','Balance','A-002','2022-08-30',12900,'2026-10-19'),(9,'Rigaku MiniFlex','X-ray diffractometer','B-125','2026-09-28',98000,NULL);
CREATE TABLE experiment (experimentId INTEGER PRIMARY KEY, code VARCHAR UNIQUE, reaction VARCHAR, leadId INTEGER REFERENCES researcher(researcherId), startedOn DATE, endedOn DATE, state VARCHAR, budgetEur DOUBLE, yieldPct DOUBLE);
INSERT INTO experiment
WITH b AS (SELECT i, DATE '2022-10-03' + CAST(i * 25 + hash(i,'st') % 12 AS INTEGER) AS st, CAST(9 + hash(i,'du') % 70 AS INTEGER) + CASE WHEN i >= 57 THEN 60 ELSE 0 END AS du,
 CASE WHEN i < 15 THEN [3,5,5,13,4,10,3,1][1 + CAST(hash(i,'le') % 8 AS INTEGER)] WHEN i < 36 THEN [3,5,5,6,7,4,5,10][1 + CAST(hash(i,'le') % 8 AS INTEGER)] ELSE [3,5,5,6,7,8,8,11][1 + CAST(hash(i,'le') % 8 AS INTEGER)] END AS ld,
 ['Suzuki coupling','Suzuki coupling','Suzuki coupling','Grignard addition','Hydrogenation','Hydrogenation','Diels-Alder','Esterification','Ring-opening polymerization','Ring-opening polymerization','Aldol condensation'][1 + CAST(hash(i,'re') % 11 AS INTEGER)] AS rx,
 hash(i,'fa') % 7 = 0 AS bad FROM range(1,61) r(i))
SELECT i, 'EXP-' || lpad(CAST(i AS VARCHAR),3,'0'), rx, ld, CASE WHEN i > 58 THEN NULL ELSE st END, CASE WHEN i > 58 OR st + du > DATE '2026-11-17' THEN NULL ELSE st + du END,
 CASE WHEN i > 58 THEN 'planned' WHEN st + du > DATE '2026-11-17' THEN 'running' WHEN bad THEN 'abandoned' ELSE 'finished' END,
 CASE WHEN hash(i,'bn') % 15 = 0 THEN NULL ELSE 400 + (hash(i,'bu') % 60) * 75 END,
 CASE WHEN i > 58 OR st + du > DATE '2026-11-17' OR bad THEN NULL ELSE 35 + (hash(i,'yi') % 121) / 2.0 END
FROM b;
CREATE TABLE sample (sampleId INTEGER PRIMARY KEY, experimentId INTEGER REFERENCES experiment(experimentId), compound VARCHAR, massMg DOUBLE, purityPct DOUBLE, takenOn DATE, storage VARCHAR, toxic BOOLEAN);
INSERT INTO sample
WITH k AS (SELECT e.*, j, row_number() OVER (ORDER BY experimentId, j) AS n FROM experiment e, range(0,5) r(j) WHERE state <> 'planned' AND j < CAST(hash(experimentId,'ns') % 6 AS INTEGER)),
p AS (SELECT *, CASE WHEN reaction IN ('Suzuki coupling') THEN ['biphenyl','4-methylbiphenyl','biphenyl'] WHEN reaction = 'Hydrogenation' THEN ['cyclohexane','aniline','cyclohexane']
  WHEN reaction = 'Esterification' THEN ['ethyl acetate','aspirin','ethyl acetate'] WHEN reaction LIKE 'Ring%' THEN ['polylactide','polycaprolactone','polylactide']
  WHEN reaction = 'Grignard addition' THEN ['triphenylmethanol','triphenylmethanol','benzoic acid'] WHEN reaction = 'Diels-Alder' THEN ['norbornene','norbornene','norbornene'] ELSE ['chalcone','dibenzalacetone','chalcone'] END AS cs FROM k)
SELECT n, experimentId, cs[1 + CAST(hash(n,'cp') % 3 AS INTEGER)], CASE WHEN hash(n,'mn') % 30 = 0 THEN NULL ELSE 12 + (hash(n,'ma') % 970) / 2.0 END,
 CASE WHEN hash(n,'pn') % 12 = 0 THEN NULL ELSE 100 - (hash(n,'pu') % 250) / 10.0 - 0.3 END, startedOn + CAST(2 + j AS INTEGER),
 ['freezer','fridge','shelf','shelf','glovebox'][1 + CAST(hash(n,'so') % 5 AS INTEGER)], cs[1 + CAST(hash(n,'cp') % 3 AS INTEGER)] IN ('aniline','biphenyl') FROM p;
CREATE TABLE measurement (measurementId INTEGER PRIMARY KEY, sampleId INTEGER REFERENCES sample(sampleId), instrumentId INTEGER REFERENCES instrument(instrumentId), doneBy INTEGER REFERENCES researcher(researcherId), measuredAt TIMESTAMP, minutes INTEGER, ok BOOLEAN);
INSERT INTO measurement
WITH m AS (SELECT s.sampleId, s.takenOn, j, e.leadId, row_number() OVER (ORDER BY s.sampleId, j) AS n FROM sample s JOIN experiment e USING (experimentId), range(0,4) r(j) WHERE j < CAST(hash(sampleId,'nm') % 5 AS INTEGER)),
x AS (SELECT *, LEAST(takenOn + CAST(1 + j + hash(n,'dd') % 4 AS INTEGER), DATE '2026-11-17') AS md FROM m),
y AS (SELECT *, CASE WHEN isodow(md) > 5 THEN md - CAST(isodow(md) - 5 AS INTEGER) ELSE md END AS d2 FROM x)
SELECT n, sampleId, [1,1,1,2,2,3,3,3,3,5,5,6,7,4][1 + CAST(hash(n,'in') % (CASE WHEN takenOn < DATE '2023-02-20' THEN 13 ELSE 14 END) AS INTEGER)],
 CASE WHEN hash(n,'by') % 3 = 0 THEN 9 ELSE leadId END, d2 + INTERVAL (CAST(8 + hash(n,'hr') % 10 AS INTEGER)) HOUR + INTERVAL (CAST((hash(n,'mi') % 12) * 5 AS INTEGER)) MINUTE,
 CAST(5 + hash(n,'du') % 115 AS INTEGER), hash(n,'ok') % 9 <> 0 FROM y;

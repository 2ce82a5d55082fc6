CREATE TABLE "Teachers" ("Teacher No" INTEGER PRIMARY KEY, "Name" VARCHAR, "Hired" DATE, "Hours per Week" INTEGER, "Room" VARCHAR);
INSERT INTO "Teachers" VALUES
(1,'Mrs Abbott','2004-09-01',24,'12'),(2,'Mr Bielak','2011-09-01',26,'14'),(3,'Ms Castellano','2019-01-07',18,'Lab 1'),(4,'Dr Dunmore','1998-09-01',22,'Lab 2'),
(5,'Mr Eriksen','2022-09-01',26,'Gym'),(6,'Mrs Fofana','2016-09-01',20,'21'),(7,'Ms Grewal','2024-09-01',12,NULL),(8,'Mr Hollis','2009-02-16',24,'07'),(9,'Mrs Ivanova','2026-09-01',10,NULL);
CREATE TABLE "Classes" ("Class Code" VARCHAR PRIMARY KEY, "Grade Level" INTEGER, "Class Teacher" INTEGER REFERENCES "Teachers"("Teacher No"), "Floor" INTEGER);
INSERT INTO "Classes" VALUES ('7A',7,1,0),('7B',7,6,0),('8A',8,2,1),('8B',8,8,1),('9A',9,3,1),('9B',9,4,2),('10A',10,7,2);
CREATE TABLE "Subjects" ("Subject Code" VARCHAR PRIMARY KEY, "Subject" VARCHAR, "Compulsory" INTEGER);
INSERT INTO "Subjects" VALUES ('MAT','Mathematics',1),('ENG','English',1),('BIO','Biology',1),('CHE','Chemistry',1),('HIS','History',1),('PE','Sports',1),('ART','Art',0),('LAT','Latin',0),('SPA','Spanish',0);
CREATE TABLE "Students" ("Student No" INTEGER PRIMARY KEY, "First Name" VARCHAR, "Last Name" VARCHAR, "Gender" VARCHAR, "Birthday" DATE, "Class Code" VARCHAR REFERENCES "Classes"("Class Code"), "Town" VARCHAR, "Enrolled" DATE, "Left School" DATE, "Bus Pass" INTEGER);
INSERT INTO "Students"
WITH b AS (SELECT i, ['7A','7A','7B','8A','8A','8B','9A','9B','9B','10A'][1 + CAST(hash('cl' || i) % 10 AS INTEGER)] AS cl, hash('g' || i) % 2 AS g FROM range(1,93) r(i)),
c AS (SELECT *, CAST(replace(replace(cl,'A',''),'B','') AS INTEGER) AS gl FROM b)
SELECT 1000 + i, CASE WHEN g = 0 THEN ['Emma','Olivia','Mia','Zofia','Aisha','Lily','Grace','Ruby','Nadia','Chloe','Freya','Hana'][1 + CAST(hash('f' || i) % 12 AS INTEGER)]
  ELSE ['Noah','Oliver','Leo','Jakub','Omar','Harry','Finn','Max','Theo','Ravi','Sam','Luca'][1 + CAST(hash('f' || i) % 12 AS INTEGER)] END,
 ['Adams','Brown','Clarke','Davies','Evans','Fletcher','Green','Hughes','Iqbal','Jones','Kaur','Lewis','Murphy','Nowak','Owens','Patel','Quinn','Roberts','Singh','Taylor','Underwood','Vance','Walker','Young'][1 + CAST((i * 7 + hash('l' || i) % 3) % 24 AS INTEGER)],
 CASE WHEN g = 0 THEN 'F' ELSE 'M' END, make_date(2026 - gl - 6, 9, 1) + CAST(hash('bd' || i) % 364 AS INTEGER), CASE WHEN i = 92 THEN NULL ELSE cl END,
 ['Ashford','Ashford','Ashford','Ashford','Brookdale','Brookdale','Brookdale','Coldwater','Coldwater','Eastham'][1 + CAST(hash('to' || i) % 10 AS INTEGER)],
 CASE WHEN i = 92 THEN DATE '2026-11-02' WHEN hash('en' || i) % 6 = 0 AND gl > 7 THEN make_date(2027 + 6 - gl, 1, 8) ELSE make_date(2026 + 7 - gl, 9, 1) END,
 CASE WHEN hash('lf' || i) % 17 = 0 AND i < 90 THEN make_date(2026, 6, 30) ELSE NULL END, CASE WHEN hash('bu' || i) % 5 < 2 THEN 1 ELSE 0 END
FROM c;
CREATE TABLE "Marks" ("Mark No" INTEGER PRIMARY KEY, "Student No" INTEGER REFERENCES "Students"("Student No"), "Subject Code" VARCHAR REFERENCES "Subjects"("Subject Code"), "Teacher No" INTEGER REFERENCES "Teachers"("Teacher No"), "Test Date" DATE, "Points" DOUBLE, "Kind" VARCHAR);
INSERT INTO "Marks"
WITH b AS (SELECT i, 1001 + CAST(hash('st' || i) % 91 AS INTEGER) AS st, ['MAT','MAT','MAT','MAT','ENG','ENG','ENG','BIO','BIO','CHE','CHE','HIS','HIS','PE','ART','SPA'][1 + CAST(hash('su' || i) % 16 AS INTEGER)] AS su,
  hash('dt' || i) % 674 AS dd FROM range(1,561) r(i)),
c AS (SELECT *, DATE '2025-01-13' + CAST(dd AS INTEGER) AS d0 FROM b),
d AS (SELECT *, CASE WHEN isodow(d0) > 5 THEN d0 + 2 ELSE d0 END AS d1 FROM c),
e AS (SELECT *, CASE WHEN month(d1) IN (7,8) THEN d1 + 62 ELSE d1 END AS d2 FROM d),
f AS (SELECT e.*, CASE WHEN isodow(d2) > 5 THEN d2 - 2 ELSE d2 END AS dt, s."Enrolled" AS en, s."Left School" AS lf FROM e JOIN "Students" s ON s."Student No" = e.st)
SELECT i, st, su, CASE su WHEN 'MAT' THEN (CASE WHEN hash('m' || st) % 2 = 0 THEN 1 ELSE 2 END) WHEN 'ENG' THEN 6 WHEN 'BIO' THEN 3 WHEN 'CHE' THEN 4 WHEN 'HIS' THEN 8 WHEN 'PE' THEN 5 WHEN 'ART' THEN (CASE WHEN hash('a' || st) % 3 = 0 THEN 7 ELSE 6 END) ELSE 7 END,
 dt, CASE WHEN hash('np' || i) % 28 = 0 THEN NULL ELSE LEAST(100, 28 + hash('p1' || i) % 36 + hash('p2' || i) % 34 + hash('q' || st) % 12 - CASE WHEN su IN ('MAT','CHE') THEN 8 ELSE 0 END + CASE WHEN su = 'PE' THEN 12 ELSE 0 END) / 1.0 END,
 ['test','test','quiz','homework','oral'][1 + CAST(hash('k' || i) % 5 AS INTEGER)]
FROM f WHERE dt >= en AND (lf IS NULL OR dt <= lf) AND dt <= DATE '2026-11-17';
CREATE TABLE "Absences" ("Absence No" INTEGER PRIMARY KEY, "Student No" INTEGER REFERENCES "Students"("Student No"), "Day" DATE, "Lessons Missed" INTEGER, "Excused" INTEGER);
INSERT INTO "Absences"
WITH b AS (SELECT i, 1001 + CAST(least(hash('st' || i) % 91, hash('s2' || i) % 91) AS INTEGER) AS st, DATE '2025-01-13' + CAST(hash('dt' || i) % 674 AS INTEGER) AS d0 FROM range(1,281) r(i)),
c AS (SELECT *, CASE WHEN isodow(d0) > 5 THEN d0 + 2 ELSE d0 END AS d1 FROM b), e AS (SELECT *, CASE WHEN month(d1) IN (7,8) THEN d1 + 63 ELSE d1 END AS d2 FROM c),
f AS (SELECT e.*, s."Enrolled" AS en, s."Left School" AS lf FROM e JOIN "Students" s ON s."Student No" = e.st)
SELECT i, st, d2, CAST(1 + hash('ls' || i) % 7 AS INTEGER), CASE WHEN hash('ex' || i) % 10 < 7 THEN 1 WHEN hash('ex' || i) % 10 < 9 THEN 0 ELSE NULL END FROM f WHERE d2 >= en AND (lf IS NULL OR d2 <= lf) AND d2 <= DATE '2026-11-17' AND isodow(d2) < 6;

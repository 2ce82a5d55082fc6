CREATE TABLE "Departments" ("Dept Code" VARCHAR PRIMARY KEY, "Department" VARCHAR, "Faculty" VARCHAR, "Building" VARCHAR, "Annual Budget" INTEGER);
INSERT INTO "Departments" VALUES
 ('BIO', 'Biology', 'Science', 'Darwin House', 2450000), ('CHE', 'Chemistry', 'Science', 'Darwin House', 2980000), ('PHY', 'Physics', 'Science', 'Curie Tower', 3120000),
 ('MAT', 'Mathematics', 'Science', 'Noether Wing', 1380000), ('CSC', 'Computer Science', 'Engineering', 'Turing Hall', 3560000), ('MEC', 'Mechanical Engineering', 'Engineering', 'Foundry', 2870000),
 ('HIS', 'History', 'Humanities', 'Old Quad', 890000), ('PHI', 'Philosophy', 'Humanities', 'Old Quad', 540000), ('ECO', 'Economics', 'Social Sciences', 'Exchange Building', 1720000), ('THE', 'Theology', 'Humanities', NULL, 310000);
CREATE TABLE "Lecturers" ("Lecturer No" INTEGER PRIMARY KEY, "Name" VARCHAR, "Dept Code" VARCHAR REFERENCES "Departments"("Dept Code"), "Rank" VARCHAR, "Hired On" DATE, "Salary" INTEGER, "Office" VARCHAR);
INSERT INTO "Lecturers" VALUES
 (1, 'Margaret Okoye', 'BIO', 'Professor', '1998-09-01', 94500, 'D-201'), (2, 'Peter Lindholm', 'BIO', 'Senior Lecturer', '2012-01-15', 67800, 'D-214'), (3, 'Yuki Tanabe', 'CHE', 'Professor', '2004-09-01', 91200, 'D-305'),
 (4, 'Rosa Delgado', 'CHE', 'Lecturer', '2021-08-16', 52300, 'D-311'), (5, 'Colin Fraser', 'PHY', 'Reader', '2009-03-02', 74900, 'C-410'), (6, 'Ines Carvalho', 'PHY', 'Lecturer', '2023-09-01', 51000, 'C-402'),
 (7, 'Viktor Sokolov', 'MAT', 'Professor', '1991-10-01', 98700, 'N-012'), (8, 'Emma Whitfield', 'MAT', 'Senior Lecturer', '2015-09-01', 65400, NULL), (9, 'Arjun Rao', 'CSC', 'Professor', '2007-01-08', 102400, 'T-500'),
 (10, 'Sophie Lambert', 'CSC', 'Lecturer', '2022-09-01', 56900, 'T-418'), (11, 'Daniel Mbeki', 'CSC', 'Senior Lecturer', '2016-02-01', 71500, 'T-420'), (12, 'Helga Brandt', 'MEC', 'Reader', '2011-09-01', 76300, 'F-07'),
 (13, 'Owen Price', 'HIS', 'Senior Lecturer', '2003-09-01', 66100, 'Q-33'), (14, 'Claire Dubois', 'PHI', 'Reader', '2014-09-01', 69800, 'Q-41'), (15, 'Samuel Adeyemi', 'ECO', 'Professor', '2010-08-01', 96800, 'E-120'),
 (16, 'Nadia Rahman', 'ECO', 'Lecturer', '2024-09-01', 53600, 'E-118'), (17, 'Thomas Hale', 'THE', 'Lecturer', '2019-09-01', NULL, NULL), (18, 'Freya Nilsen', 'MEC', 'Lecturer', '2025-09-01', 52800, 'F-11');
CREATE TABLE "Courses" ("Course No" VARCHAR PRIMARY KEY, "Course Title" VARCHAR, "Lecturer No" INTEGER REFERENCES "Lecturers"("Lecturer No"), "Level" VARCHAR, "Credits" INTEGER, "Places" INTEGER, "Teaching Language" VARCHAR, "First Run" DATE);
INSERT INTO "Courses" VALUES
 ('BIO101', 'Cell Biology', 1, 'undergraduate', 10, 40, 'English', '2001-09-24'), ('BIO240', 'Marine Ecology', 2, 'undergraduate', 15, 25, 'English', '2013-09-23'), ('BIO510', 'Genomics', 1, 'graduate', 20, 12, 'English', '2017-01-16'),
 ('CHE101', 'General Chemistry', 3, 'undergraduate', 10, 40, 'English', '2004-09-27'), ('CHE330', 'Organic Synthesis', 4, 'undergraduate', 15, 18, 'English', '2022-01-17'), ('PHY110', 'Mechanics', 5, 'undergraduate', 10, 35, 'English', '2009-09-28'),
 ('PHY410', 'Quantum Optics', 5, 'graduate', 20, 10, 'English', '2016-09-26'), ('PHY205', 'Thermodynamics', 6, 'undergraduate', 15, 30, 'French', '2023-09-25'), ('MAT100', 'Calculus', 7, 'undergraduate', 10, 60, 'English', '1992-10-05'),
 ('MAT210', 'Linear Algebra', 8, 'undergraduate', 10, 50, 'English', '2015-09-28'), ('MAT450', 'Number Theory', 7, 'graduate', 20, 10, 'German', '1996-01-15'), ('CSC101', 'Intro to Programming', 10, 'undergraduate', 10, 60, 'English', '2022-09-26'),
 ('CSC220', 'Databases', 11, 'undergraduate', 15, 45, 'English', '2016-09-26'), ('CSC480', 'Machine Learning', 9, 'graduate', 20, 30, 'English', '2014-01-13'), ('CSC310', 'Operating Systems', 11, 'undergraduate', 15, 30, 'English', '2018-01-15'),
 ('MEC120', 'Statics', 12, 'undergraduate', 10, 30, 'German', '2011-09-26'), ('HIS105', 'Medieval Europe', 13, 'undergraduate', 10, 30, 'English', '2003-09-29'), ('HIS420', 'Archives and Sources', 13, 'graduate', 15, 10, 'French', '2012-01-16'),
 ('PHI101', 'Logic', 14, 'undergraduate', 10, 35, 'English', '2014-09-29'), ('PHI230', 'Ethics of Technology', 14, 'undergraduate', 10, 40, 'English', '2020-01-13'), ('ECO101', 'Microeconomics', 16, 'undergraduate', 10, 50, 'English', '2024-09-23'),
 ('ECO440', 'Game Theory', 15, 'graduate', 20, 20, 'English', '2010-09-27'), ('ECO215', 'Public Finance', 15, 'undergraduate', 15, 25, NULL, '2012-09-24'), ('THE300', 'Biblical Hebrew', 17, 'undergraduate', 15, 10, NULL, '2019-09-23');
CREATE TABLE "Students" ("Student No" INTEGER PRIMARY KEY, "Name" VARCHAR, "Home Country" VARCHAR, "Born On" DATE, "Admitted On" DATE, "Graduated On" DATE, "Programme" VARCHAR, "Scholarship" INTEGER, "Part Time" INTEGER);
INSERT INTO "Students" SELECT 7000 + i, ['Aisha','Ben','Camille','Dmitri','Elif','Finn','Greta','Hassan','Isla','Jakub','Kofi','Laura'][1 + (hash(i,'fn') % 12)::INT] || ' ' || ['Abbott','Becker','Costa','Doyle','Eriksen','Fontaine','Gupta','Hughes','Ito','Jensen','Kowalski','Lopez','Meyer'][1 + (i * 5 + i // 13) % 13],
 ['United Kingdom','United Kingdom','United Kingdom','Germany','France','India','Nigeria','Poland','Japan',NULL][1 + (hash(i,'co') % 10)::INT],
 DATE '1996-02-01' + (i * 52) + (hash(i,'bd') % 1200)::INT, make_date(2020 + i // 11, 9, 20 + i % 4),
 CASE WHEN i < 34 AND hash(i,'gr') % 6 > 0 THEN make_date(2023 + i // 11 + (hash(i,'gy') % 2)::INT, 7, 10) END,
 CASE WHEN i % 17 = 3 THEN NULL ELSE ['Bachelor','Bachelor','Bachelor','Master','Master','Doctorate'][1 + (hash(i,'pr') % 6)::INT] END,
 CASE WHEN hash(i,'sc') % 10 < 3 THEN [1500,1500,3000,3000,5000,8000][1 + (hash(i,'sa') % 6)::INT] END, CASE WHEN hash(i,'pt') % 7 = 0 THEN 1 ELSE 0 END
FROM (SELECT k::INTEGER AS i FROM range(1, 76) r(k)) t;
CREATE TABLE "Enrolments" ("Enrolment No" INTEGER PRIMARY KEY, "Student No" INTEGER REFERENCES "Students"("Student No"), "Course No" VARCHAR REFERENCES "Courses"("Course No"), "Enrolled On" DATE, "Grade" INTEGER, "Status" VARCHAR, "Attendance %" DOUBLE, "Tuition Paid" DOUBLE);
INSERT INTO "Enrolments" SELECT i, 7000 + s, c, d, CASE WHEN st IN ('passed','failed') THEN CASE WHEN st = 'passed' THEN 40 + (hash(i,'g') % 59)::INT ELSE 12 + (hash(i,'g') % 28)::INT END END, st,
 CASE WHEN hash(i,'na') % 15 = 0 THEN NULL ELSE 35.0 + (hash(i,'at') % 651)::INT / 10.0 END, 250.0 + (hash(i,'tu') % 8)::INT * 75
FROM (SELECT i, s, c, d, CASE WHEN d >= DATE '2026-08-01' THEN 'in progress' ELSE ['passed','passed','passed','passed','passed','passed','failed','failed','withdrawn'][1 + (hash(i,'st') % 9)::INT] END AS st
 FROM (SELECT i, s, c, make_date(y, 9, 20 + (i % 9)) + (hash(i,'w') % 2)::INT * 118 AS d FROM (SELECT i, s, LEAST(2020 + s // 11 + (hash(i,'y') % 3)::INT, 2025 + (i % 2)) AS y,
  ['MAT100','MAT100','CSC101','CSC101','CSC101','CSC220','CSC220','CSC480','ECO101','ECO101','PHI101','PHI230','BIO101','BIO101','BIO240','CHE101','PHY110','PHY205','MAT210','MAT210','HIS105','MEC120','CSC310','ECO215','ECO440','BIO510','CHE330','PHY410','HIS420','MAT450'][1 + (hash(i,'c') % 30)::INT] AS c
  FROM (SELECT i, 1 + (hash(i,'s') % 71)::INT AS s FROM (SELECT k::INTEGER AS i FROM range(1, 271) r(k)) t) a) b WHERE make_date(y, 9, 20) + (hash(i,'w') % 2)::INT * 118 < DATE '2026-11-01') e) f;

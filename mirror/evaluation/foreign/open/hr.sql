CREATE TABLE "Departments" ("Dept Code" VARCHAR PRIMARY KEY, "Department" VARCHAR, "Office" VARCHAR, "Annual Budget" DECIMAL(12,2));
INSERT INTO "Departments" VALUES ('MGT','Management','Leeds',950000),('FIN','Finance','Leeds',620000),('ENG','Engineering','Manchester',2400000),('SAL','Sales','London',1350000),('MKT','Marketing','London',880000),('OPS','Operations','Manchester',1100000),('HR','Human Resources','Leeds',310000),('SUS','Sustainability','London',90000);
CREATE TABLE "Employees" ("Emp No" INTEGER PRIMARY KEY, "Name" VARCHAR, "Gender" VARCHAR, "Born" DATE, "Hired" DATE, "Left" DATE, "Dept Code" VARCHAR REFERENCES "Departments"("Dept Code"), "Job Title" VARCHAR, "Manager No" INTEGER, "Contract" VARCHAR, "Weekly Hours" DOUBLE);
INSERT INTO "Employees" VALUES
(100,'Margaret Holloway','F','1966-02-11','2009-09-01',NULL,'MGT','Managing Director',NULL,'Full-time',40),
(101,'Stephen Clarke','M','1971-07-30','2011-03-14',NULL,'FIN','Head of Finance',100,'Full-time',40),
(102,'Anjali Deshmukh','F','1978-12-19','2013-06-03',NULL,'ENG','Head of Engineering',100,'Full-time',40),
(103,'Rory McAllister','M','1974-05-08','2012-01-09',NULL,'SAL','Head of Sales',100,'Full-time',40),
(104,'Beatrix Lowe','F','1983-09-27','2018-04-16',NULL,'MKT','Head of Marketing',100,'Full-time',38),
(105,'Dennis Okoro','M','1969-10-02','2010-05-17',NULL,'OPS','Head of Operations',100,'Full-time',40),
(106,'Helen Tran','F','1980-03-15','2016-10-10',NULL,'HR','HR Manager',100,'Part-time',30),
(107,'Paul Whittaker','M','1985-01-22','2017-02-06',NULL,'FIN','Accountant',101,'Full-time',38),
(108,'Samira Haddad','F','1991-06-17','2020-08-03',NULL,'FIN','Accountant',101,'Full-time',38),
(109,'George Linton','M','1962-11-05','2009-11-02','2023-12-31','FIN','Payroll Clerk',101,'Part-time',20),
(110,'Katie Brennan','F','1996-04-29','2024-01-08',NULL,'FIN','Payroll Clerk',101,'Part-time',24),
(111,'Tobias Engel','M','1987-08-13','2015-09-14',NULL,'ENG','Team Lead',102,'Full-time',40),
(112,'Naomi Fischer','F','1989-02-03','2016-03-07',NULL,'ENG','Team Lead',102,'Full-time',40),
(113,'Arjun Patel','M','1994-10-21','2019-07-01',NULL,'ENG','Software Engineer',111,'Full-time',40),
(114,'Lucia Romano','F','1995-12-08','2021-02-15',NULL,'ENG','Software Engineer',111,'Full-time',40),
(115,'Owen Davies','M','1990-05-26','2018-11-19','2024-06-30','ENG','Software Engineer',111,'Full-time',40),
(116,'Mei Lin Goh','F','1998-03-09','2022-09-05',NULL,'ENG','Software Engineer',111,'Full-time',40),
(117,'Patrick Noonan','M','1982-07-04','2014-04-28',NULL,'ENG','Senior Engineer',112,'Full-time',40),
(118,'Ewa Zielinska','F','1993-01-31','2020-01-13',NULL,'ENG','Software Engineer',112,'Part-time',32),
(119,'Callum Reid','M','2000-06-12','2023-09-04',NULL,'ENG','Junior Engineer',112,'Full-time',40),
(120,'Zoe Papadakis','F','2001-09-18','2025-09-01',NULL,'ENG','Junior Engineer',112,'Full-time',40),
(121,'Hassan Yildiz','M','1988-11-11','2017-06-12',NULL,'ENG','Senior Engineer',111,'Full-time',40),
(122,'Fiona Grant','F','1986-04-06','2014-10-06',NULL,'SAL','Key Account Manager',103,'Full-time',40),
(123,'Luke Sanderson','M','1992-08-24','2019-01-21',NULL,'SAL','Sales Rep',103,'Full-time',40),
(124,'Chiara Bianchi','F','1997-02-14','2021-11-01','2025-03-31','SAL','Sales Rep',103,'Full-time',40),
(125,'Derek Mbeki','M','1984-06-30','2016-07-18',NULL,'SAL','Sales Rep',122,'Full-time',40),
(126,'Holly Spencer','F','1999-10-03','2023-02-20',NULL,'SAL','Sales Rep',122,'Full-time',40),
(127,'Victor Salgado','M','1979-12-25','2013-02-11','2022-09-30','SAL','Sales Rep',103,'Full-time',40),
(128,'Amy Thornton','F','1994-07-07','2022-05-09',NULL,'SAL','Sales Assistant',122,'Part-time',25),
(129,'Jonas Weber','M',NULL,'2025-02-03',NULL,'SAL','Sales Rep',122,'Full-time',40),
(130,'Imogen Hart','F','1990-09-01','2018-09-10',NULL,'MKT','Content Editor',104,'Part-time',28),
(131,'Raj Malhotra','M','1987-03-23','2019-05-13',NULL,'MKT','Designer',104,'Full-time',38),
(132,'Sophie Leclerc','F','1996-11-16','2022-01-10',NULL,'MKT','Social Media Editor',104,'Full-time',38),
(133,'Nathan Byrne','M','1998-08-19','2024-04-02','2025-10-31','MKT','Designer',104,'Full-time',38),
(134,'Alex Morgan','X','1995-05-05','2023-06-19',NULL,'MKT','Campaign Planner',104,'Full-time',38),
(135,'Teresa Walsh','F','1968-01-27','2010-02-01',NULL,'OPS','Warehouse Lead',105,'Full-time',40),
(136,'Barry Stubbs','M','1965-04-18','2009-09-14',NULL,'OPS','Driver',105,'Full-time',40),
(137,'Kemal Arslan','M','1991-12-12','2018-03-05',NULL,'OPS','Warehouse Worker',135,'Full-time',40),
(138,'Precious Nkosi','F','1993-06-22','2020-10-19',NULL,'OPS','Warehouse Worker',135,'Full-time',40),
(139,'Gareth Pugh','M','1977-09-09','2015-01-12','2021-07-31','OPS','Driver',105,'Full-time',40),
(140,'Monika Dvorak','F','1989-10-28','2021-09-06',NULL,'OPS','Warehouse Worker',135,'Part-time',20),
(141,'Jamie Cole','M','2002-02-20','2024-07-01',NULL,'OPS','Warehouse Worker',135,'Full-time',40),
(142,'Sunita Rao','F','1985-08-08','2019-11-04',NULL,'OPS','Planner',105,'Full-time',40),
(143,'Lee Chambers','M','1997-05-17','2026-03-02',NULL,'OPS','Driver',105,'Full-time',40),
(144,'Grace Obi','F','1992-03-30','2021-04-12',NULL,'HR','HR Officer',106,'Full-time',38),
(145,'Ian Pemberton','M','1981-06-05','2017-08-21','2024-02-29','HR','Recruiter',106,'Full-time',38),
(146,'Elsa Nyberg','F',NULL,'2026-06-08',NULL,'HR','Recruiter',106,'Part-time',30),
(147,'Marcus Bell','M','1999-01-14','2026-09-14',NULL,'ENG','Junior Engineer',112,'Full-time',40);
CREATE TABLE "Salaries" ("Emp No" INTEGER REFERENCES "Employees"("Emp No"), "Valid From" DATE, "Valid To" DATE, "Annual Salary" DECIMAL(10,2), PRIMARY KEY ("Emp No", "Valid From"));
INSERT INTO "Salaries"
WITH base AS (SELECT "Emp No" e, "Hired" h, coalesce("Left", DATE '2026-11-18') l, "Left" lf, "Weekly Hours" w,
   CASE WHEN "Job Title"='Managing Director' THEN 118000 WHEN "Job Title" LIKE 'Head%' THEN 72000 WHEN "Job Title"='HR Manager' THEN 58000 WHEN "Job Title"='Team Lead' THEN 57000
     WHEN "Job Title" LIKE 'Senior%' THEN 59500 WHEN "Job Title"='Software Engineer' THEN 43000 WHEN "Job Title" LIKE 'Junior%' THEN 33000 WHEN "Job Title" LIKE 'Key%' THEN 49000
     WHEN "Job Title" IN ('Sales Rep','Accountant','Recruiter','HR Officer','Designer','Planner','Campaign Planner') THEN 36000 WHEN "Job Title"='Warehouse Lead' THEN 33500 ELSE 27000 END
     + 500*(hash("Emp No",'b')%9)::INT b FROM "Employees"),
 steps AS (SELECT e, h f, 0 n FROM base UNION ALL
   SELECT e, make_date(y::INT,4,1), 1 FROM base, range(2014,2027) t(y) WHERE make_date(y::INT,4,1) > h + 200 AND make_date(y::INT,4,1) < l AND hash(e,y,'raise')%3=0),
 lev AS (SELECT *, sum(n*(hash(e,f,'pct')%4+2)::INT) OVER (PARTITION BY e ORDER BY f) p FROM steps)
SELECT e, f, coalesce(lead(f) OVER (PARTITION BY e ORDER BY f) - 1, lf), round(b*(1+p/100.0)*w/40, -1) FROM lev JOIN base USING (e);
CREATE TABLE "Absence Types" ("Code" VARCHAR PRIMARY KEY, "Meaning" VARCHAR, "Paid" BOOLEAN);
INSERT INTO "Absence Types" VALUES ('V','Vacation',true),('S','Sick leave',true),('P','Parental leave',true),('T','Training',true),('U','Unpaid leave',false),('J','Jury duty',true);
CREATE TABLE "Absences" ("Id" INTEGER PRIMARY KEY, "Emp No" INTEGER REFERENCES "Employees"("Emp No"), "Code" VARCHAR REFERENCES "Absence Types"("Code"), "From" DATE, "To" DATE, "Days" DOUBLE);
INSERT INTO "Absences"
SELECT row_number() OVER (ORDER BY f, e)::INTEGER, e, c, f, (f + (CASE WHEN d<1 THEN 0 ELSE d-1 + 2*floor((d+isodow(f)-2)/5) END)::INT)::DATE, d FROM (
 SELECT a, e, c, CASE WHEN isodow(f0)>5 THEN (f0 - (isodow(f0)-5)::INT)::DATE ELSE f0 END f,
  CASE c WHEN 'V' THEN [1,2,3,5,5,10,10,15][1+(hash(a,'dv')%8)::INT] WHEN 'S' THEN [0.5,1,1,1,2,2,3,4,5,12][1+(hash(a,'ds')%10)::INT] WHEN 'P' THEN [10,40,60][1+(hash(a,'dp')%3)::INT] WHEN 'T' THEN [1,2,3][1+(hash(a,'dt')%3)::INT] ELSE [1,3,5][1+(hash(a,'du')%3)::INT] END::DOUBLE d
 FROM (SELECT a, "Emp No" e, ['V','V','V','V','V','S','S','S','S','S','S','T','T','U','P'][1+(hash(a,'c')%15)::INT] c,
   (DATE '2023-01-09' + (hash(a,'f')%1395)::INT)::DATE f0
  FROM range(1,281) t(a) JOIN "Employees" ON "Emp No" = 100 + (48*pow((hash(a,'e')%1000)/1000.0,1.25))::INT * 11 % 48
  WHERE f0 > "Hired" + 5 AND f0 < coalesce("Left" - 70, DATE '2026-11-05')));

CREATE TABLE Donors (DonorID INTEGER PRIMARY KEY, FullName VARCHAR, Kind VARCHAR, City VARCHAR, JoinedOn DATE, Newsletter INTEGER, ReferredBy INTEGER);
INSERT INTO Donors VALUES
(1,'Margaret Ellison','person','Leeds','2017-02-11',1,NULL),(2,'Northgate Bakery Ltd','company','Leeds','2018-06-05',0,NULL),(3,'Sunil Kapoor','person','Bradford','2018-09-23',1,1),(4,'Ellen Murray','person','York','2019-01-30',1,1),(5,'Harlow & Sons','company','Sheffield','2019-03-14',1,NULL),
(6,'Patrick Doyle','person','Leeds','2019-05-02',0,NULL),(7,'Grace Abiola','person','Hull','2019-08-19',1,4),(8,'St Aidan Parish','church','York','2019-11-08',0,NULL),(9,'Lydia Crane','person','Harrogate','2020-02-27',1,4),(10,'Victor Sandoval','person','Leeds','2020-04-13',0,NULL),
(11,'Pennine Rail Group','company','Sheffield','2020-06-01',1,NULL),(12,'Amina Yusuf','person','Bradford','2020-07-22',1,3),(13,'Colin Thwaite','person','Skipton','2020-09-10',0,NULL),(14,'Rebecca Stone','person','Leeds','2020-12-01',1,NULL),(15,'Howard Blythe','person',NULL,'2021-01-18',0,NULL),
(16,'Methodist Circle Hull','church','Hull','2021-03-03',1,7),(17,'Oksana Bondar','person','Leeds','2021-04-25',1,14),(18,'Derek Mills','person','Wakefield','2021-06-30',0,NULL),(19,'Fiona Gallagher','person','York','2021-08-12',1,4),(20,'Brightwater Dental','company','Harrogate','2021-10-20',0,9),
(21,'Naveed Hussain','person','Bradford','2021-11-15',1,12),(22,'Susan Pickering','person','Leeds','2022-01-09',1,NULL),(23,'Ian Rothwell','person','Sheffield','2022-02-28',0,5),(24,'Teresa Monk','person','Skipton','2022-05-17',1,NULL),(25,'Loom Street Studio','company','Bradford','2022-06-06',1,NULL),
(26,'George Latimer','person','Leeds','2022-09-01',0,1),(27,'Hannah Firth','person','Wakefield','2022-11-11',1,18),(28,'Caleb Osei','person','Leeds','2023-01-25',1,NULL),(29,'Winifred Shaw','person','York','2023-03-07',1,19),(30,'All Saints Choir','church','Leeds','2023-04-16',0,NULL),
(31,'Marek Zielinski','person','Hull','2023-07-03',0,NULL),(32,'Joanna Beck','person','Harrogate','2023-09-28',1,20),(33,'Aire Valley Builders','company','Leeds','2024-01-15',0,2),(34,'Diana Forsyth','person',NULL,'2024-04-04',1,NULL),(35,'Kwame Mensah','person','Leeds','2024-08-21',1,28),
(36,'Robin Tate','person','Sheffield','2024-12-09',0,NULL),(37,'Priscilla Ward','person','Leeds','2025-02-14',1,NULL),(38,'Tariq Aziz','person','Bradford','2025-06-20',1,21),(39,'Moorland Vets','company','Skipton','2025-10-01',0,24),(40,'Ruth Ashby','person','York','2026-09-12',1,NULL);

CREATE TABLE Campaigns (CampaignID INTEGER PRIMARY KEY, Title VARCHAR, Cause VARCHAR, Goal DOUBLE, StartDate DATE, EndDate DATE);
INSERT INTO Campaigns VALUES
(1,'Winter Coats 2023','clothing',6000,'2023-10-15','2024-01-31'),(2,'Feed the Street','food',12000,'2023-03-01','2024-02-28'),(3,'Books for Belle Isle','education',4000,'2024-03-10','2024-07-31'),(4,'Summer Lunch Club','food',9000,'2024-05-20','2024-09-10'),(5,'Winter Coats 2024','clothing',6500,'2024-10-14','2025-01-31'),
(6,'A Roof by Easter','housing',20000,'2025-01-07','2025-04-30'),(7,'Laptops for Learners','education',10000,'2025-05-05','2025-12-31'),(8,'Winter Coats 2025','clothing',7000,'2025-10-13','2026-02-07'),(9,'Community Garden','environment',5000,'2026-03-01','2026-08-31'),(10,'Warm Rooms','housing',15000,'2026-09-01','2027-03-31'),(11,'Football Kit Swap','clothing',1500,'2026-11-25','2027-01-20');

CREATE TABLE Donations (DonationID INTEGER PRIMARY KEY, DonorID INTEGER REFERENCES Donors(DonorID), CampaignID INTEGER REFERENCES Campaigns(CampaignID), Amount DOUBLE, GivenOn DATE, Method VARCHAR, GiftAid INTEGER);
INSERT INTO Donations
WITH c AS (SELECT *, ([38,52,21,34,36,41,30,33,22,23])[CampaignID] AS n FROM Campaigns WHERE CampaignID <= 10),
g AS (SELECT CampaignID, CampaignID * 100 + i AS h, StartDate + (hash(CampaignID * 100 + i, 'day') % (least(EndDate, DATE '2026-11-17') - StartDate + 1))::INTEGER AS d FROM c, range(1, 60) r(i) WHERE i <= n),
p AS (SELECT *, (SELECT arg_min(DonorID, (hash(h, DonorID, 'who') % 10000 + 1) * (CASE WHEN DonorID IN (1, 4, 14) THEN 0.16 WHEN DonorID IN (2, 11, 17, 22) THEN 0.3 WHEN Kind = 'church' THEN 0.5 ELSE 1.0 END)) FROM Donors WHERE JoinedOn <= d AND DonorID NOT IN (13, 31, 34, 40)) AS who FROM g)
SELECT row_number() OVER (ORDER BY d, h), who, CASE WHEN hash(h, 'general') % 100 < 12 THEN NULL ELSE CampaignID END,
  CASE (SELECT Kind FROM Donors WHERE DonorID = who) WHEN 'company' THEN ([250,500,500,750,1000,1500,2000,5000])[1 + (hash(h, 'amt') % 8)::INTEGER] WHEN 'church' THEN 80 + (hash(h, 'amt') % 40) * 7.5 ELSE ([5,10,10,15,20,20,25,25,30,40,50,50,75,100,150,12.5,300])[1 + (hash(h, 'amt') % 17)::INTEGER] END, d,
  (['card','card','card','bank transfer','bank transfer','direct debit','direct debit','cash','cheque'])[1 + (hash(h, 'method') % 9)::INTEGER],
  CASE WHEN (SELECT Kind FROM Donors WHERE DonorID = who) = 'person' THEN (hash(h, 'aid') % 3 > 0)::INTEGER ELSE 0 END
FROM p;

CREATE TABLE Volunteers (VolID INTEGER PRIMARY KEY, Name VARCHAR, BornOn DATE, Skill VARCHAR, Since DATE, HasLicence INTEGER);
INSERT INTO Volunteers VALUES
(1,'Beth Armitage','1957-04-02','cooking','2018-05-01',1),(2,'Yann Leroux','1994-11-20','driving','2022-03-15',1),(3,'Ellen Murray','1968-07-14','sorting','2019-02-10',0),(4,'Faisal Khan','2001-01-09','driving','2023-09-04',1),(5,'Dorothy Neal','1949-09-25','sorting','2016-10-10',0),
(6,'Sam Whitley','1988-03-31','teaching','2021-01-11',1),(7,'Ngozi Eze','1976-12-12','cooking','2020-06-18',1),(8,'Lorraine Petty','1963-05-05',NULL,'2024-02-02',0),(9,'Hugo Barnes','2005-08-08','sorting','2025-06-23',0),(10,'Ines Carvalho','1990-02-17','teaching','2023-11-27',1),
(11,'Stan Oldroyd','1952-10-30','gardening','2017-04-04',1),(12,'Molly Craven','1999-06-21','gardening','2026-02-20',0),(13,'Caleb Osei','1983-09-09','driving','2024-07-15',1),(14,'Petra Vogel','1971-01-26','cooking','2026-10-05',NULL),(15,'Ahmed Salim','1980-08-01','teaching','2022-09-12',0),(16,'Joy Hinchcliffe',NULL,'cooking','2019-12-01',1);

CREATE TABLE Shifts (ShiftID INTEGER PRIMARY KEY, VolID INTEGER REFERENCES Volunteers(VolID), CampaignID INTEGER REFERENCES Campaigns(CampaignID), ShiftDate DATE, Hours DOUBLE);
INSERT INTO Shifts
WITH s AS (SELECT CampaignID, CampaignID * 100 + i AS h, StartDate + (hash(CampaignID * 100 + i, 'sd') % (least(EndDate, DATE '2026-11-17') - StartDate + 1))::INTEGER AS d FROM Campaigns, range(1, 40) r(i) WHERE CampaignID NOT IN (6, 11) AND i <= 10 + (CampaignID * 7) % 15),
v AS (SELECT *, (SELECT arg_min(VolID, (hash(h, VolID, 'v') % 1000 + 1) * (CASE WHEN VolID IN (1, 5) THEN 0.35 WHEN VolID IN (7, 2) THEN 0.6 ELSE 1.0 END)) FROM Volunteers WHERE Since <= d AND VolID NOT IN (8, 14)) AS who FROM s)
SELECT row_number() OVER (ORDER BY d, h), who, CampaignID, d, CASE WHEN hash(h, 'nohrs') % 25 = 0 THEN NULL ELSE 1.5 + (hash(h, 'hrs') % 10) * 0.5 END FROM v;

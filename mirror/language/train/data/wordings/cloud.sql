CREATE TABLE plans (planCode VARCHAR PRIMARY KEY, planName VARCHAR, monthlyPrice DOUBLE, maxUsers INTEGER, launchedOn DATE);
INSERT INTO plans VALUES ('FRE','Free',0,3,'2020-05-01'),('STA','Starter',19,10,'2020-05-01'),('TEA','Team',79,50,'2020-05-01'),('BUS','Business',249,250,'2021-02-15'),('ENT','Enterprise',990,NULL,'2022-09-01'),('EDU','Education',39,500,'2024-01-10'),('GOV','Government',590,400,'2026-09-15');
CREATE TABLE servers (serverId INTEGER PRIMARY KEY, hostName VARCHAR, dataCenter VARCHAR, cpuCores INTEGER, ramGb INTEGER, provisionedOn DATE, retiredOn DATE, monthlyCost DOUBLE, os VARCHAR);
INSERT INTO servers VALUES
(1,'atlas','Frankfurt',16,64,'2020-04-20','2025-08-31',310,'Debian'),(2,'boreas','Frankfurt',32,128,'2021-01-11',NULL,540,'Debian'),(3,'calypso','Frankfurt',32,256,'2022-06-03',NULL,690,'Debian'),
(4,'daphne','Dublin',16,64,'2020-08-17',NULL,295,'Ubuntu'),(5,'echo','Dublin',16,64,'2021-05-25','2026-02-28',295,'Ubuntu'),(6,'fortuna','Dublin',64,512,'2024-03-14',NULL,1280,'Ubuntu'),
(7,'gaia','Virginia',32,128,'2021-09-30',NULL,480,'Ubuntu'),(8,'helios','Virginia',64,256,'2022-11-21',NULL,910,'Debian'),(9,'iris','Virginia',8,32,'2020-06-08','2023-12-31',140,'Windows Server'),
(10,'juno','Virginia',64,512,'2025-02-04',NULL,1240,'Ubuntu'),(11,'kronos','Singapore',16,128,'2023-04-18',NULL,460,'Debian'),(12,'luna','Singapore',32,128,'2024-10-07',NULL,620,'Debian'),
(13,'midas','Sydney',8,32,'2023-08-28',NULL,210,'Windows Server'),(14,'nyx','Sydney',32,256,'2026-01-19',NULL,760,NULL),(15,'orion','Frankfurt',96,768,'2026-10-26',NULL,1890,'Ubuntu');
CREATE TABLE engineers (engineerId INTEGER PRIMARY KEY, engineerName VARCHAR, team VARCHAR, joinedOn DATE, leftOn DATE);
INSERT INTO engineers VALUES (1,'Marta Olsen','Infrastructure','2020-03-02',NULL),(2,'Deepak Rao','Infrastructure','2021-07-19',NULL),(3,'Felix Brandt','Database','2020-11-09','2025-04-30'),(4,'Sofia Marques','Database','2022-02-14',NULL),
(5,'Liam OShea','Network','2021-01-04',NULL),(6,'Yuki Sato','Security','2023-06-12',NULL),(7,'Aaron Blum','Network','2024-09-23',NULL),(8,'Ines Cabral','Security','2026-10-12',NULL),(9,'Peter Vance',NULL,'2020-05-18','2022-12-31');
CREATE TABLE accounts (accountId INTEGER PRIMARY KEY, companyName VARCHAR, country VARCHAR, sector VARCHAR, employees INTEGER, signedUpOn DATE, closedOn DATE, serverId INTEGER REFERENCES servers, referral VARCHAR);
INSERT INTO accounts
SELECT i, ['Alder','Birch','Copper','Delphi','Ember','Falcon','Granite','Halo','Indigo','Juniper','Kestrel','Lumen','Maple','Nimbus'][1 + (i * 5) % 14] || ' ' || ['Logistics','Dental','Studios','Schools','Analytics','Retail','Labs'][1 + (i * 3 + i // 14) % 7],
 CASE WHEN i % 31 = 9 THEN NULL ELSE ['Germany','Germany','Germany','Ireland','United Kingdom','United Kingdom','United States','United States','United States','United States','Singapore','Australia','France'][1 + (hash(i, 'co') % 13)::INT] END,
 ['logistics','health','media','education','technology','retail','research'][1 + (i * 3 + i // 14) % 7], CASE WHEN i % 11 = 6 THEN NULL ELSE (3 + pow((hash(i, 'em') % 1000) / 1000.0, 4) * 2400)::INT END, s,
 CASE WHEN hash(i, 'ch') % 4 = 0 AND s + (90 + hash(i, 'cd') % 900)::INT < DATE '2026-11-17' THEN s + (90 + hash(i, 'cd') % 900)::INT END, [2,3,3,4,6,6,7,8,8,10,11,12,13,5,1][1 + (hash(i, 'sv') % 15)::INT],
 ['search','search','search','friend','friend','partner','advert','conference',NULL][1 + (hash(i, 'rf') % 9)::INT]
FROM (SELECT i, DATE '2020-05-10' + (i * 24 + (hash(i, 'su') % 22)::INT)::INT AS s FROM range(1, 98) t(i)) x;
CREATE TABLE subscriptions (subId INTEGER PRIMARY KEY, accountId INTEGER REFERENCES accounts, planCode VARCHAR REFERENCES plans, startedOn DATE, endedOn DATE, seats INTEGER, discountPct DOUBLE, autoRenew INTEGER);
INSERT INTO subscriptions
SELECT row_number() OVER (ORDER BY a.accountId, k), a.accountId, p, GREATEST(LEAST(a.signedUpOn + k * 240, DATE '2026-11-12'), a.signedUpOn), CASE WHEN k < n THEN LEAST(a.signedUpOn + (k + 1) * 240, DATE '2026-11-12') ELSE a.closedOn END,
 CASE p WHEN 'FRE' THEN 1 + hash(a.accountId, 'f') % 3 WHEN 'STA' THEN 2 + hash(a.accountId, k, 's') % 9 WHEN 'TEA' THEN 8 + hash(a.accountId, k, 't') % 40 ELSE 30 + hash(a.accountId, k, 'b') % 260 END::INT, CASE WHEN p = 'FRE' THEN NULL ELSE [0,0,0,5,10,10,20,25][1 + (hash(a.accountId, k, 'di') % 8)::INT] END, (hash(a.accountId, k, 'ar') % 4 > 0)::INT
FROM (SELECT *, CASE WHEN accountId % 19 = 4 THEN -1 WHEN closedOn IS NULL AND signedUpOn < DATE '2024-09-01' THEN (hash(accountId, 'n') % 4)::INT ELSE 0 END AS n FROM accounts) a, LATERAL (SELECT k::INT AS k, ['FRE','STA','STA','TEA','TEA','BUS','BUS','ENT','FRE','EDU'][1 + LEAST(9, (hash(a.accountId, 'p') % 8)::INT + k)::INT] AS p FROM range(0, 4) r(k) WHERE k <= a.n) q;
CREATE TABLE incidents (incidentId INTEGER PRIMARY KEY, serverId INTEGER REFERENCES servers, engineerId INTEGER REFERENCES engineers, severity INTEGER, cause VARCHAR, openedAt TIMESTAMP, resolvedAt TIMESTAMP, usersHit INTEGER);
INSERT INTO incidents
SELECT i, s, [1,1,1,2,2,4,4,5,6,NULL,7][1 + (hash(i, 'en') % 11)::INT], [1,2,2,3,3,3,4,4][1 + (hash(i, 'sy') % 8)::INT], ['hardware','network','network','software bug','software bug','software bug','human error','overload',NULL][1 + (hash(i, 'ca') % 9)::INT],
 o, CASE WHEN i >= 147 OR i = 121 THEN NULL ELSE o + to_minutes((12 + hash(i, 'r1') % 240 + (hash(i, 'r2') % 9) * (hash(i, 'r3') % 90))::INT) END, (4 + (hash(i, 'u1') % 30) * (hash(i, 'u2') % 40))::INT
FROM (SELECT i, [2,2,3,4,4,6,7,7,7,8,8,10,11,12,13][1 + (hash(i, 'is') % 15)::INT] AS s, TIMESTAMP '2021-10-04 03:10:00' + to_hours((i * 297 + hash(i, 'oh') % 250)::INT) + to_minutes((hash(i, 'om') % 60)::INT) AS o FROM range(1, 151) t(i)) x;

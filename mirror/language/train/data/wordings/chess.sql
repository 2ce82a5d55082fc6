CREATE TABLE members (memberId INTEGER PRIMARY KEY, fullName VARCHAR, birthYear INTEGER, joinedOn DATE, leftOn DATE, rating INTEGER, peakRating INTEGER, town VARCHAR, clubRole VARCHAR, annualFee DOUBLE, feePaid BOOLEAN);
INSERT INTO members VALUES
(1,'Walter Prins',1948,'1989-09-05',NULL,1712,1985,'Utrecht','honorary member',0,true),(2,'Saskia de Boer',1979,'2008-01-15',NULL,2043,2101,'Utrecht','chairwoman',120,true),
(3,'Imran Aziz',1994,'2016-09-13',NULL,2187,2187,'Utrecht','trainer',60,true),(4,'Joost Vermeer',1985,'2012-10-02',NULL,1890,1934,'Zeist','treasurer',120,true),
(5,'Lotte Bakker',2009,'2019-09-10',NULL,1655,1655,'Bilthoven',NULL,60,true),(6,'Hendrik Kuipers',1956,'1994-02-01',NULL,1764,1920,'Utrecht',NULL,120,true),
(7,'Anouk Visser',1991,'2017-11-21',NULL,1823,1870,'Nieuwegein','secretary',120,true),(8,'Pieter Smit',1972,'2003-09-02',NULL,1950,2034,'Utrecht',NULL,120,false),
(9,'Dmitri Volkov',1988,'2021-01-12',NULL,2256,2301,'Amersfoort','trainer',60,true),(10,'Emma Jansen',2011,'2021-09-14',NULL,1402,1431,'Utrecht',NULL,60,true),
(11,'Bram Jansen',2013,'2022-09-13',NULL,1188,1188,'Utrecht',NULL,60,true),(12,'Koen Mulder',1968,'1999-09-07',NULL,1678,1803,'Zeist',NULL,120,true),
(13,'Fatima El Idrissi',2002,'2020-09-08',NULL,1788,1801,'Utrecht',NULL,90,true),(14,'Ruben Hoekstra',1999,'2018-09-11','2023-06-30',1930,1930,'Houten',NULL,120,true),
(15,'Gerda Maas',1951,'2001-03-06','2024-12-31',1490,1702,'Utrecht',NULL,120,true),(16,'Thijs Brouwer',2006,'2017-09-12',NULL,1977,1980,'Houten',NULL,90,true),
(17,'Nadia Kowalska',1983,'2023-02-07',NULL,1866,1866,'Utrecht',NULL,120,false),(18,'Cees Peeters',1945,'1985-09-03',NULL,1544,1905,'Bilthoven','honorary member',0,true),
(19,'Mees Dekker',2014,'2024-09-10',NULL,NULL,NULL,'Utrecht',NULL,60,true),(20,'Sofie Willems',1996,'2022-01-18',NULL,1709,1745,'Nieuwegein',NULL,120,true),
(21,'Arjan Post',1977,'2010-09-14',NULL,1812,1899,'Zeist','librarian',120,true),(22,'Yusuf Demir',2000,'2023-09-12',NULL,2011,2011,'Utrecht',NULL,90,true),
(23,'Marijke Bos',1963,'2015-01-13','2022-06-30',1601,1650,'Utrecht',NULL,120,false),(24,'Lars Nilsson',1990,'2025-01-14',NULL,2104,2150,'Amersfoort',NULL,120,true),
(25,'Oscar van Dijk',2010,'2020-09-08','2025-06-30',1520,1566,'Houten',NULL,60,true),(26,'Ingrid Schouten',1974,'2024-02-06',NULL,1450,1450,'Zeist',NULL,120,false),
(27,'Tom Hendriks',1987,'2019-01-15',NULL,1755,1810,'Utrecht',NULL,120,true),(28,'Priya Raman',1998,'2025-09-09',NULL,1640,1640,'Utrecht',NULL,90,true),
(29,'Simon Blom',2012,'2025-09-16',NULL,NULL,NULL,NULL,NULL,60,false),(30,'Rob Timmer',1959,'2026-01-20',NULL,1580,1725,'Bilthoven',NULL,120,true),
(31,'Julia Kok',2008,'2026-09-08',NULL,1333,1333,'Nieuwegein',NULL,60,true),(32,'Maarten Evers',1981,'2026-09-15',NULL,NULL,NULL,'Utrecht',NULL,120,false);
CREATE TABLE tournaments (tournamentId INTEGER PRIMARY KEY, title VARCHAR, startsOn DATE, endsOn DATE, timeControl VARCHAR, entryFee DOUBLE, prizeMoney DOUBLE, arbiterId INTEGER REFERENCES members(memberId));
INSERT INTO tournaments VALUES (1,'Autumn Open 2023','2023-10-06','2023-12-15','classical',25,600,4),(2,'Christmas Blitz 2023','2023-12-22','2023-12-22','blitz',5,150,7),(3,'Club Championship 2024','2024-01-12','2024-05-24','classical',15,500,21),
(4,'Summer Rapid 2024','2024-07-06','2024-07-07','rapid',20,300,NULL),(5,'Autumn Open 2024','2024-10-04','2024-12-13','classical',25,700,4),(6,'Christmas Blitz 2024','2024-12-20','2024-12-20','blitz',5,150,7),
(7,'Club Championship 2025','2025-01-10','2025-05-23','classical',15,500,21),(8,'Youth Cup 2025','2025-06-14','2025-06-15','rapid',0,NULL,3),(9,'Summer Rapid 2025','2025-07-05','2025-07-06','rapid',20,350,7),
(10,'Autumn Open 2025','2025-10-03','2025-12-12','classical',30,800,4),(11,'Christmas Blitz 2025','2025-12-19','2025-12-19','blitz',7.5,200,NULL),(12,'Club Championship 2026','2026-01-09','2026-05-22','classical',15,600,21),
(13,'Summer Rapid 2026','2026-07-04','2026-07-05','rapid',20,350,9),(14,'Autumn Open 2026','2026-10-02','2026-12-11','classical',30,1000,4);
CREATE TABLE openings (eco VARCHAR PRIMARY KEY, openingName VARCHAR, family VARCHAR);
INSERT INTO openings VALUES ('B20','Sicilian Defence','semi-open'),('C60','Ruy Lopez','open'),('C50','Italian Game','open'),('D06','Queen''s Gambit','closed'),('C00','French Defence','semi-open'),('B10','Caro-Kann','semi-open'),('A10','English Opening','flank'),('E60','King''s Indian','Indian'),('C30','King''s Gambit','open'),('D02','London System','closed'),('A40','Budapest Gambit','Indian');
CREATE TABLE entries (tournamentId INTEGER REFERENCES tournaments(tournamentId), memberId INTEGER REFERENCES members(memberId), signedUpOn DATE, paid BOOLEAN, score DOUBLE, finalPlace INTEGER, withdrew BOOLEAN);
INSERT INTO entries SELECT t, m, s, hash(m, t, 'pd') % 11 > 0, CASE WHEN t = 14 THEN NULL ELSE sc END, CASE WHEN t = 14 OR w THEN NULL ELSE row_number() OVER (PARTITION BY t, w ORDER BY sc DESC, m) END, w
 FROM (SELECT tournamentId AS t, memberId AS m, startsOn - (hash(memberId, tournamentId, 's') % 40)::INT - 1 AS s, hash(memberId, tournamentId, 'w') % 16 = 0 AS w, least(7, greatest(0, round((coalesce(rating, 1000) - 1100) / 110.0 + (hash(memberId, tournamentId, 'sc') % 9)::INT - 4) / 2 + 0.5)) AS sc FROM tournaments, members
 WHERE joinedOn < startsOn AND (leftOn IS NULL OR leftOn > endsOn) AND hash(memberId, tournamentId, 'in') % 20 < 5 + (memberId % 4) * 3 AND memberId NOT IN (1, 26) AND (tournamentId <> 8 OR birthYear > 2005)) x;
CREATE TABLE games (gameId INTEGER PRIMARY KEY, tournamentId INTEGER REFERENCES tournaments(tournamentId), whiteId INTEGER REFERENCES members(memberId), blackId INTEGER REFERENCES members(memberId), playedAt TIMESTAMP, outcome VARCHAR, moveCount INTEGER, minutesPlayed INTEGER, eco VARCHAR REFERENCES openings(eco));
INSERT INTO games SELECT row_number() OVER (ORDER BY p, a, b), t, a, b, p, CASE WHEN d > 260 THEN 'white' WHEN d < -170 THEN 'black' ELSE 'draw' END, CASE WHEN abs(d) < 50 THEN 14 + (hash(a, b, p, 'm') % 30)::INT ELSE 18 + (hash(a, b, p, 'm') % 62)::INT END,
  CASE WHEN hash(a, b, p, 'nx') % 23 = 0 THEN NULL WHEN tc = 'blitz' THEN 4 + (hash(a, b, p, 'x') % 7)::INT WHEN tc = 'rapid' THEN 20 + (hash(a, b, p, 'x') % 33)::INT ELSE 55 + (hash(a, b, p, 'x') % 200)::INT END,
  CASE WHEN hash(a, b, p, 'ne') % 12 = 0 THEN NULL ELSE ['B20','B20','C60','C50','D06','D06','C00','B10','A10','E60','C30','D02'][1 + least((hash(a, b, p, 'e') % 12)::INT, (hash(a, b, p, 'e2') % 12)::INT)] END
 FROM (SELECT e.tournamentId AS t, e.memberId AS a, f.memberId AS b, tt.timeControl AS tc, tt.startsOn::TIMESTAMP + to_days(CASE WHEN tt.endsOn = tt.startsOn THEN 0 WHEN tt.endsOn - tt.startsOn = 1 THEN (hash(e.memberId, f.memberId, 'day') % 2)::INT ELSE 7 * (hash(e.memberId, f.memberId, t.k) % ((tt.endsOn - tt.startsOn) // 7)::INT)::INT END) + to_minutes(CASE WHEN tt.timeControl = 'rapid' THEN 600 + (hash(f.memberId, e.memberId) % 8)::INT * 60 ELSE 1170 + (hash(f.memberId, e.memberId) % 6)::INT * 15 END) AS p,
   coalesce(ma.rating, 1100) - coalesce(mb.rating, 1100) + (hash(e.memberId, f.memberId, e.tournamentId, 'luck') % 900)::INT - 420 AS d
  FROM entries e JOIN entries f ON e.tournamentId = f.tournamentId AND e.memberId <> f.memberId JOIN tournaments tt ON tt.tournamentId = e.tournamentId JOIN members ma ON ma.memberId = e.memberId JOIN members mb ON mb.memberId = f.memberId, range(1, 2) t(k)
  WHERE hash(e.memberId, f.memberId, e.tournamentId, 'play') % 100 < 19) y WHERE p < TIMESTAMP '2026-11-18 00:00:00';

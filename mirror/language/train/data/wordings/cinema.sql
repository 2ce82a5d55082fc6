CREATE TABLE screens ("screenId" INTEGER PRIMARY KEY, "screenName" VARCHAR, house VARCHAR, seats INTEGER, "hasAtmos" BOOLEAN, "refittedOn" DATE);
INSERT INTO screens VALUES
(1,'Rex','Harbour',212,true,'2019-06-01'),(2,'Lux','Harbour',140,false,'2017-03-15'),(3,'Atlas','Harbour',140,true,'2023-09-20'),
(4,'Studio','Old Town',64,false,NULL),(5,'Lido','Old Town',96,false,'2012-05-02'),(6,'Attic','Old Town',32,false,NULL),(7,'Roxy','Westgate',180,true,'2024-02-11');
CREATE TABLE films ("filmId" INTEGER PRIMARY KEY, title VARCHAR, genre VARCHAR, "ageLimit" INTEGER, "runtimeMin" INTEGER, distributor VARCHAR, country VARCHAR, "openedOn" DATE, "criticScore" DOUBLE);
INSERT INTO films VALUES
(1,'The Salt Road','drama',12,128,'Meridian','France','2023-12-14',7.8),(2,'Paper Lanterns','animation',0,94,'Bluebird','Japan','2024-01-18',8.4),
(3,'Night Ferry','thriller',16,111,'Meridian','Denmark','2024-03-07',6.9),(4,'Grandma Goes Rogue','comedy',6,98,'Crown','USA','2024-04-25',5.2),
(5,'Iron Harvest','action',16,142,'Crown','USA','2024-07-11',6.1),(6,'Little Otter','animation',0,82,'Bluebird','Ireland','2024-10-03',7.1),
(7,'The Last Cartographer','drama',12,156,'Meridian','UK','2024-12-05',8.8),(8,'Hollow House','horror',18,101,'Nocturne','USA','2025-01-30',5.9),
(9,'Two Weddings Too Many','comedy',6,105,'Crown','UK','2025-03-20',6.3),(10,'Deep Orbit','science fiction',12,149,'Crown','USA','2025-06-12',7.6),
(11,'Bees of Brno','documentary',0,88,'Fernhill','Czechia','2025-07-17',8.1),(12,'Hollow House II','horror',18,97,'Nocturne','USA','2025-10-23',4.4),
(13,'Winter Choir','drama',6,119,'Fernhill','Norway','2025-12-04',NULL),(14,'Deep Orbit: Return','science fiction',12,163,'Crown','USA','2026-04-02',7.2),
(15,'Captain Turnip','animation',0,91,'Bluebird','France','2026-06-25',6.6),(16,'The Alibi Club','thriller',16,117,'Meridian','UK','2026-08-20',7.5),
(17,'Midnight Bakery','comedy',0,98,'Fernhill','Italy','2026-10-01',7.9),(18,'Glass Island','thriller',16,124,NULL,'Iceland','2026-10-29',NULL),
(19,'The Quiet Shift','documentary',12,79,'Fernhill','UK','2026-11-12',NULL);
CREATE TABLE shows ("showId" INTEGER PRIMARY KEY, "filmId" INTEGER REFERENCES films, "screenId" INTEGER REFERENCES screens, "startsAt" TIMESTAMP, "isThreeD" BOOLEAN, language VARCHAR, "basePrice" DOUBLE);
INSERT INTO shows
SELECT 500 + i, f."filmId", CASE WHEN hash(i,'sc') % 10 < 3 THEN 1 WHEN hash(i,'sc') % 10 < 5 THEN 2 ELSE 3 + (hash(i,'s2') % 37) % 5 END,
  f."openedOn"::TIMESTAMP + (least(hash(i,'d1') % 20, hash(i,'d2') % 26))::INTEGER * INTERVAL 1 DAY
   + (CASE WHEN f."ageLimit" < 6 THEN [11,14,14,17][1 + (hash(i,'h') % 4)::INTEGER] ELSE [14,17,20,20,20,22][1 + (hash(i,'h') % 6)::INTEGER] END) * INTERVAL 1 HOUR
   + [0,0,15,30][1 + (hash(i,'m') % 4)::INTEGER] * INTERVAL 1 MINUTE,
  f.genre IN ('science fiction','animation','action') AND hash(i,'3d') % 3 = 0,
  CASE WHEN f.country IN ('UK','USA','Ireland') THEN 'English' WHEN hash(i,'l') % 5 < 2 THEN 'subtitled' WHEN hash(i,'l') % 11 = 3 THEN NULL ELSE 'dubbed' END,
  CASE WHEN f."ageLimit" = 0 THEN 8.5 WHEN hash(i,'p') % 3 = 0 THEN 10.5 ELSE 12.0 END
FROM range(150) r(i) JOIN films f ON f."filmId" = 1 + (CASE WHEN i % 3 = 0 THEN least(hash(i,'f') % 19, hash(i,'g') % 19) ELSE hash(i,'f') % 19 END);
CREATE TABLE members ("memberId" INTEGER PRIMARY KEY, "fullName" VARCHAR, "birthYear" INTEGER, town VARCHAR, tier VARCHAR, "joinedOn" DATE, "wantsNewsletter" BOOLEAN);
INSERT INTO members
SELECT 1 + i, ['Petra','Omar','Sofia','Kaspar','Ines','Dominic','Freya','Mateo','Hanne'][1 + (i % 9)::INTEGER] || ' ' || ['Lindqvist','Baker','Okafor','Rossi','Dvorak','Quinn','Amin'][1 + (i % 7)::INTEGER],
  CASE WHEN hash(i,'nb') % 12 = 0 THEN NULL ELSE 1948 + hash(i,'b') % 60 END, ['Portsea','Portsea','Portsea','Kingsley','Kingsley','Marlow Bay','Thornham'][1 + (hash(i,'t') % 7)::INTEGER],
  ['classic','classic','classic','gold','student'][1 + (hash(i,'ti') % 5)::INTEGER], DATE '2021-02-01' + (hash(i,'j') % 2080)::INTEGER, hash(i,'w') % 3 > 0
FROM range(48) r(i);
CREATE TABLE tickets ("ticketId" INTEGER PRIMARY KEY, "showId" INTEGER REFERENCES shows, "memberId" INTEGER REFERENCES members, "ticketType" VARCHAR, price DOUBLE, "boughtAt" TIMESTAMP, channel VARCHAR, "seatRow" VARCHAR, refunded BOOLEAN, "snackSpend" DOUBLE);
INSERT INTO tickets
SELECT 70000 + i, s."showId", 1 + least(hash(i,'m1') % 44, hash(i,'m2') % 44), t.tt,
  round(s."basePrice" * (CASE t.tt WHEN 'child' THEN 0.6 WHEN 'student' THEN 0.8 WHEN 'senior' THEN 0.75 ELSE 1 END) + CASE WHEN s."isThreeD" THEN 2 ELSE 0 END, 2),
  least(TIMESTAMP '2026-11-17 21:05:00', s."startsAt" - (least(hash(i,'b1') % 200, hash(i,'b2') % 90))::INTEGER * INTERVAL 1 HOUR - (hash(i,'b3') % 60)::INTEGER * INTERVAL 1 MINUTE),
  ['web','web','web','app','app','box office'][1 + (hash(i,'c') % 6)::INTEGER], ['A','B','C','D','E','F','G','H'][1 + greatest(hash(i,'r1') % 8, hash(i,'r2') % 6)::INTEGER],
  hash(i,'rf') % 14 = 0, CASE WHEN hash(i,'sn') % 5 < 2 THEN NULL ELSE 2.5 + (hash(i,'s5') % 24)::INTEGER * 0.5 END
FROM range(300) r(i) JOIN shows s ON s."showId" = 500 + least(hash(i,'x') % 150, hash(i,'y') % 170)
JOIN (SELECT * FROM (VALUES (0,'adult'),(1,'adult'),(2,'adult'),(3,'student'),(4,'senior'),(5,'child')) v(k, tt)) t ON t.k = CASE WHEN s."basePrice" > 11 AND hash(i,'tk') % 6 = 5 THEN 3 ELSE hash(i,'tk') % 6 END;

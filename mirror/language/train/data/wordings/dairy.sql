CREATE TABLE "Farms" ("Farm No" INTEGER PRIMARY KEY, "Farm Name" VARCHAR, "Owner" VARCHAR, "Village" VARCHAR, "Cows" INTEGER, "Organic" BOOLEAN, "Member Since" DATE, "Distance Km" DOUBLE);
INSERT INTO "Farms" VALUES
(1,'Alpenrose Farm','Johanna Egger','Oberdorf',42,true,'2012-04-01',3.5),(2,'Hinterhof','Peter Maurer','Oberdorf',28,false,'2009-01-15',4.2),(3,'Sunnegg','Familie Lanz','Grindel',65,true,'2017-09-01',11.8),(4,'Bachmatt','Urs Keller','Talheim',51,false,'2005-06-01',8.0),
(5,'Moosboden','Lena Frei','Talheim',37,true,'2021-03-15',9.4),(6,'Eichhof','Anton Wyss','Grindel',88,false,'2011-11-01',14.6),(7,'Steinacker','Rosa Bieri','Seewil',19,true,'2023-05-01',21.3),(8,'Lindenhof','Markus Graf','Seewil',65,false,'2014-02-01',19.7),
(9,'Goat Meadow','Clara Huber','Oberdorf',NULL,true,'2022-08-01',2.9),(10,'Feldblick','Hans Roth','Neudorf',33,false,'2026-10-01',26.0),(11,'Ziegelhof','Martin Suter',NULL,24,false,'2007-05-01',NULL);
CREATE TABLE "Deliveries" ("Delivery No" INTEGER PRIMARY KEY, "Farm No" INTEGER REFERENCES "Farms", "Delivered On" TIMESTAMP, "Litres" DOUBLE, "Fat %" DOUBLE, "Price per Litre" DOUBLE, "Milk" VARCHAR, "Rejected" BOOLEAN);
INSERT INTO "Deliveries"
SELECT i, f, TIMESTAMP '2023-01-02 05:00:00' + to_hours(i::INT * 120 - (hash(i, 'dh') % 4)::INT * 24) + to_minutes((hash(i, 'dm') % 300 + (CASE WHEN hash(i, 'ev') % 4 = 0 THEN 700 ELSE 0 END))::INT),
 CASE WHEN f = 9 THEN 40 + hash(i, 'l1') % 90 ELSE 150 + hash(i, 'l1') % 500 + (CASE WHEN f IN (3, 6, 8) THEN 350 ELSE 0 END) END::DOUBLE, CASE WHEN i % 37 = 5 THEN NULL ELSE round(3.5 + (hash(i, 'fa') % 13) / 10.0, 1) END,
 round(0.62 + (CASE WHEN f IN (1, 3, 5, 7, 9) THEN 0.14 ELSE 0 END) + i / 2800.0, 2), CASE WHEN f = 9 THEN 'goat' WHEN f = 8 AND i % 3 = 0 THEN 'sheep' ELSE 'cow' END, hash(i, 're') % 17 = 0
FROM (SELECT i, [1,1,2,3,3,3,4,4,5,6,6,6,6,7,8,8,9][1 + (hash(i, 'fm') % 17)::INT] AS f FROM range(1, 282) t(i)) x;
CREATE TABLE "Cheeses" ("Cheese Code" VARCHAR PRIMARY KEY, "Cheese Name" VARCHAR, "Style" VARCHAR, "Milk" VARCHAR, "Min Ripening Days" INTEGER, "Price per Kg" DOUBLE, "Introduced" DATE, "Prize Winner" BOOLEAN);
INSERT INTO "Cheeses" VALUES
('BERG','Old Mountain','hard','cow',300,34.5,'2005-10-01',true),('TILS','Village Tilsit','semi-hard','cow',90,21,'2008-03-01',false),('MUTS','Mutschli','semi-hard','cow',45,24,'2011-05-10',false),('BLAU','Blue Moon','blue','cow',60,32,'2018-09-15',true),
('BRIE','Valley Brie','soft','cow',21,26.5,'2014-04-04',false),('GEIS','Little Goat','fresh','goat',3,38,'2022-09-01',false),('SCHA','Shepherd''s Wheel','hard','sheep',180,44,'2020-02-20',true),('FRIS','Cottage Cup','fresh','cow',1,12.5,'2016-06-01',false),
('RACL','Raclette','semi-hard','cow',75,23.5,'2009-11-11',false),('PFEF','Pepper Rind','semi-hard','cow',60,26.5,'2023-10-05',NULL),('TRUF','Truffle Brie','soft','cow',28,49,'2026-09-01',false);
CREATE TABLE "Batches" ("Batch No" INTEGER PRIMARY KEY, "Cheese Code" VARCHAR REFERENCES "Cheeses", "Made On" DATE, "Ready On" DATE, "Milk Used" DOUBLE, "Kg Made" DOUBLE, "Kg Spoiled" DOUBLE, "Cheesemaker" VARCHAR, "Vat" INTEGER);
INSERT INTO "Batches"
SELECT 300 + i, c, d, CASE WHEN d + ("Min Ripening Days" + hash(i, 'rp') % 40)::INT > DATE '2026-11-18' THEN NULL ELSE d + ("Min Ripening Days" + hash(i, 'rp') % 40)::INT END, m, round(m * (CASE "Style" WHEN 'fresh' THEN 0.18 WHEN 'soft' THEN 0.13 ELSE 0.1 END) * (0.9 + (hash(i, 'y') % 20) / 100.0), 1),
 CASE WHEN hash(i, 'sp') % 5 > 0 THEN 0 ELSE round(1 + (hash(i, 's2') % 90) / 6.0, 1) END, ['Beat Amstutz','Beat Amstutz','Beat Amstutz','Silvia Kunz','Silvia Kunz','Noah Berger',NULL][1 + (hash(i, 'cm') % 7)::INT], 1 + (hash(i, 'va') % 4)::INT
FROM (SELECT i, ['BERG','BERG','TILS','TILS','MUTS','MUTS','MUTS','BLAU','BRIE','BRIE','GEIS','SCHA','FRIS','FRIS','RACL','RACL','RACL'][1 + (hash(i, 'ch') % 17)::INT] AS c, DATE '2023-01-09' + (i * 7 - (hash(i, 'md') % 6)::INT)::INT AS d, 200 + 25 * (hash(i, 'mu') % 30)::DOUBLE AS m FROM range(1, 202) t(i)) x JOIN "Cheeses" z ON z."Cheese Code" = x.c;
CREATE TABLE "Customers" ("Customer No" INTEGER PRIMARY KEY, "Customer Name" VARCHAR, "Type" VARCHAR, "Town" VARCHAR, "First Order" DATE, "Discount %" DOUBLE);
INSERT INTO "Customers" VALUES
(1,'Hotel Krone','restaurant','Talheim','2015-03-02',5),(2,'Migrolino Bahnhof','shop','Neustadt','2019-08-14',NULL),(3,'Chez Marie','restaurant','Neustadt','2021-05-20',3),(4,'Delicatessen Vogel','shop','Bergen','2012-10-10',8),(5,'Weekly Market Talheim','market','Talheim','2008-04-05',NULL),
(6,'Fromage Direct','online','Lyon','2022-11-01',12),(7,'Schoolkitchen Grindel','canteen','Grindel','2023-08-21',10),(8,'Coop Oberdorf','shop','Oberdorf','2010-01-11',8),(9,'Gasthof Adler','restaurant','Bergen','2018-06-30',3),(10,'Bio Corner','shop','Neustadt','2024-02-12',NULL),
(11,'Farm Shop','shop','Oberdorf','2005-10-08',0),(12,'Cheese and Wine Club','online','Basel','2026-10-30',5),(13,'Spital Bergen','canteen','Bergen','2020-09-01',NULL),(14,'Trattoria Lago','restaurant','Seewil','2016-02-01',3);
CREATE TABLE "Sales" ("Sale No" INTEGER PRIMARY KEY, "Customer No" INTEGER REFERENCES "Customers", "Batch No" INTEGER REFERENCES "Batches", "Sold On" DATE, "Kg" DOUBLE, "Price per Kg" DOUBLE, "Paid On" DATE);
INSERT INTO "Sales"
SELECT 9000 + i, cu, bn, s, 0.5 * (1 + hash(i, 'kg') % 14 + (hash(i, 'k2') % 5) * (hash(i, 'k3') % 8)), round(p * (CASE WHEN cu IN (4, 6, 8) THEN 0.9 ELSE 1 END), 2), CASE WHEN hash(i, 'up') % 12 = 0 OR s + (hash(i, 'pd') % 45)::INT > DATE '2026-11-17' THEN NULL ELSE s + (hash(i, 'pd') % 45)::INT END
FROM (SELECT i, [11,11,11,11,5,5,5,8,8,4,4,1,1,3,9,6,6,7,2,10][1 + (hash(i, 'cu') % 20)::INT] AS cu, b."Batch No" AS bn, LEAST(COALESCE(b."Ready On", DATE '2026-11-10') + (hash(i, 'sd') % 120)::INT, DATE '2026-11-17') AS s, z."Price per Kg" AS p
  FROM range(1, 301) t(i) JOIN "Batches" b ON b."Batch No" = 301 + (hash(i, 'ba') % 186) JOIN "Cheeses" z ON z."Cheese Code" = b."Cheese Code" WHERE b."Ready On" IS NOT NULL) x;

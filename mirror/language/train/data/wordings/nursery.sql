CREATE TABLE Growers ("Grower No" INTEGER, "Grower Name" VARCHAR, "Country" VARCHAR, "Certified Organic" BOOLEAN, "Partner Since" INTEGER, "Lead Time Days" INTEGER);
INSERT INTO Growers VALUES (1,'Van Dijk Kwekerij','Netherlands',false,2009,9),(2,'Baumschule Ahrens','Germany',true,2012,14),(3,'Hollins Farm','England',true,2015,3),
(4,'Pépinières Laurent','France',false,2011,12),(5,'Castle Roses','England',false,2004,4),(6,'Verde Toscana','Italy',true,2019,21),(7,'Nordplant','Denmark',NULL,2023,10);
CREATE TABLE Plants ("Plant No" INTEGER, "Plant Name" VARCHAR, "Category" VARCHAR, "Light" VARCHAR, "Height cm" INTEGER, "Hardy To C" INTEGER, "Flower Colour" VARCHAR, "Shelf Price" DOUBLE, "In Stock" INTEGER, "Bee Friendly" BOOLEAN, "Grower No" INTEGER);
INSERT INTO Plants VALUES
(101,'English Lavender','perennial','full sun',60,-20,'purple',5.9,140,true,3),(102,'Catmint','perennial','full sun',70,-25,'blue',5.5,84,true,1),(103,'Hosta Blue Angel','perennial','shade',90,-30,'white',9.8,37,false,1),
(104,'Japanese Anemone','perennial','half shade',110,-20,'pink',7.4,52,true,1),(105,'Red Coneflower','perennial','full sun',80,-25,'red',8.2,0,true,2),(106,'Lady''s Mantle','perennial','half shade',40,-30,'yellow',4.9,66,false,2),
(107,'Rose Gertrude','rose','full sun',150,-20,'pink',24.5,28,false,5),(108,'Rose Iceberg','rose','full sun',120,-20,'white',22.0,33,false,5),(109,'Rose Graham','rose','full sun',180,-18,'yellow',24.5,12,false,5),
(110,'Climbing Rose Etoile','rose','full sun',350,-18,'red',29.0,9,false,5),(111,'Dog Rose','rose','half shade',300,-30,'pink',14.0,21,true,3),(112,'Boxwood','shrub','half shade',120,-20,NULL,12.9,210,false,1),
(113,'Hydrangea Annabelle','shrub','half shade',150,-28,'white',19.9,45,false,1),(114,'Butterfly Bush','shrub','full sun',250,-20,'purple',13.5,31,true,4),(115,'Witch Hazel','shrub','half shade',300,-25,'yellow',39.0,6,true,2),
(116,'Common Lilac','shrub','full sun',400,-30,'purple',27.5,14,true,2),(117,'Camellia Debbie','shrub','shade',200,-10,'pink',34.0,0,false,4),(118,'Japanese Maple','tree','half shade',350,-18,NULL,89.0,11,false,6),
(119,'Crab Apple Evereste','tree','full sun',500,-28,'white',64.0,8,true,2),(120,'Silver Birch','tree','full sun',1500,-35,NULL,48.0,16,false,7),(121,'Olive Tree','tree','full sun',400,-8,NULL,129.0,5,false,6),
(122,'Cherry Plum','tree','full sun',700,-25,'pink',59.0,4,true,4),(123,'Apple Cox','fruit','full sun',450,-25,'white',36.0,22,true,3),(124,'Pear Conference','fruit','full sun',500,-22,'white',38.0,17,true,3),
(125,'Blackcurrant','fruit','half shade',150,-30,NULL,11.5,58,true,3),(126,'Fig Brown Turkey','fruit','full sun',300,-12,NULL,32.0,7,false,6),(127,'Raspberry Autumn Bliss','fruit','full sun',160,-28,'white',8.9,95,true,3),
(128,'Rosemary','herb','full sun',100,-12,'blue',4.5,120,true,6),(129,'Thyme','herb','full sun',25,-25,'pink',3.8,160,true,3),(130,'Peppermint','herb','half shade',60,-30,'purple',3.8,75,true,3),
(131,'Sage','herb','full sun',60,-20,'purple',4.2,88,true,3),(132,'Basil','herb','full sun',40,5,'white',2.9,0,true,3),(133,'Snowdrop','bulb','half shade',15,-30,'white',1.9,400,true,1),
(134,'Tulip Queen of Night','bulb','full sun',60,-30,'purple',0.8,950,false,1),(135,'Daffodil','bulb','full sun',40,-30,'yellow',0.7,1200,false,1),(136,'Giant Allium','bulb','full sun',150,-28,'purple',3.4,260,true,NULL);
CREATE TABLE Customers ("Customer No" INTEGER, "Customer Name" VARCHAR, "Kind" VARCHAR, "Village" VARCHAR, "First Visit" DATE, "Newsletter" BOOLEAN);
INSERT INTO Customers
SELECT 2001 + i, CASE WHEN i < 28 THEN ['Agnes','Bert','Celia','Dorian','Edith','Fergus','Greta'][1 + (i % 7)::INTEGER] || ' ' || ['Moss','Heath','Brook','Field'][1 + (i % 4)::INTEGER]
  ELSE ['Greenline Gardens','Parish of Elmsby','Petal & Stem','Tidy Hedges','Town of Wickham','Oakleaf Landscapes','Flora Corner','Hillside School','Stone & Green','Abbey Hotel'][1 + (i - 28)::INTEGER] END,
 CASE WHEN i < 28 THEN 'private' WHEN i IN (28,31,33,36) THEN 'landscaper' WHEN i IN (29,32,35) THEN 'public body' WHEN i IN (30,34) THEN 'florist' ELSE NULL END,
 ['Elmsby','Elmsby','Wickham','Wickham','Nether Poole','Abbotsley','Crowfield'][1 + (hash(i,'v') % 7)::INTEGER], DATE '2019-03-02' + (hash(i,'f') % 1740)::INTEGER, hash(i,'n') % 5 < 2
FROM range(38) r(i);
CREATE TABLE Sales ("Sale No" INTEGER, "Plant No" INTEGER, "Customer No" INTEGER, "Sold On" DATE, "Quantity" INTEGER, "Unit Price" DOUBLE, "Paid By" VARCHAR, "Delivered On" DATE, "Returned" BOOLEAN);
INSERT INTO Sales
SELECT 9001 + i, p."Plant No", k.c, k.d, CASE WHEN k.c >= 2029 THEN 5 + hash(i,'q') % 40 WHEN p."Category" IN ('bulb','herb') THEN 2 + hash(i,'q') % 12 ELSE 1 + least(hash(i,'q') % 4, hash(i,'q2') % 6) END,
 round(p."Shelf Price" * CASE WHEN k.c >= 2029 THEN 0.85 ELSE 1 END, 2), CASE WHEN k.c >= 2029 THEN 'invoice' WHEN hash(i,'pb') % 7 < 4 THEN 'card' WHEN hash(i,'pb') % 7 < 6 THEN 'cash' ELSE 'voucher' END,
 CASE WHEN k.c >= 2029 OR hash(i,'de') % 5 = 0 THEN k.d + 1 + (least(hash(i,'dd') % 21, hash(i,'d3') % 15))::INTEGER END, hash(i,'rt') % 17 = 0
FROM (SELECT i, 2001 + CASE WHEN hash(i,'cc') % 4 = 0 THEN 28 + hash(i,'c1') % 9 ELSE least(hash(i,'c2') % 28, hash(i,'c3') % 26) END AS c, 101 + greatest(hash(i,'p') % 35, 0) AS pn,
  make_date(2024 + least(2, i // 105)::INTEGER, CASE WHEN hash(i,'w') % 6 = 0 THEN 2 + hash(i,'mo') % 9 ELSE [3,4,4,4,5,5,5,6,9,10][1 + (hash(i,'mo') % 10)::INTEGER] END::INTEGER, 1 + (hash(i,'dy') % 28)::INTEGER) AS d FROM range(300) r(i)) k
JOIN Plants p ON p."Plant No" = k.pn;
CREATE TABLE Losses ("Loss No" INTEGER, "Plant No" INTEGER, "Found On" DATE, "Pieces" INTEGER, "Cause" VARCHAR, "Insured" BOOLEAN);
INSERT INTO Losses
SELECT 1 + i, 101 + hash(i,'lp') % 33, make_date(2024 + (i // 20)::INTEGER, [1,2,2,4,5,7,8,8,10][1 + (hash(i,'lm') % 9)::INTEGER], 1 + (hash(i,'ld') % 27)::INTEGER), 1 + least(hash(i,'lq') % 30, hash(i,'l2') % 45),
 CASE hash(i,'ca') % 8 WHEN 0 THEN 'drought' WHEN 1 THEN 'slugs' WHEN 2 THEN 'mildew' WHEN 3 THEN 'theft' WHEN 4 THEN NULL WHEN 5 THEN 'slugs' ELSE 'frost' END, hash(i,'ln') % 4 = 0 FROM range(56) r(i);

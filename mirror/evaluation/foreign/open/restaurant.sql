CREATE TABLE course (cd VARCHAR PRIMARY KEY, label VARCHAR);
INSERT INTO course VALUES ('ST','Starter'),('MN','Main'),('DS','Dessert'),('SD','Side'),('DR','Drink');
CREATE TABLE dishes (dishId INTEGER PRIMARY KEY, dishName VARCHAR, courseCd VARCHAR REFERENCES course(cd), price DOUBLE, isVegetarian INTEGER, kcal INTEGER, onMenuSince DATE);
INSERT INTO dishes VALUES
(1,'Tomato Soup','ST',6.5,1,180,'2020-02-01'),(2,'Beef Carpaccio','ST',11.5,0,240,'2020-02-01'),(3,'Burrata with Peach','ST',10.9,1,380,'2022-06-01'),
(4,'Grilled Octopus','ST',13.5,0,290,'2021-05-15'),(5,'Bruschetta','ST',5.9,1,260,'2020-02-01'),
(6,'Spaghetti Carbonara','MN',14.9,0,880,'2020-02-01'),(7,'Mushroom Risotto','MN',15.5,1,720,'2020-02-01'),(8,'Ribeye Steak','MN',29.5,0,950,'2020-02-01'),
(9,'Sea Bass Fillet','MN',24.5,0,510,'2021-03-01'),(10,'Lamb Shank','MN',23.9,0,890,'2022-10-01'),(11,'Margherita Pizza','MN',11.9,1,840,'2020-02-01'),
(12,'Diavola Pizza','MN',13.9,0,960,'2020-02-01'),(13,'Truffle Pizza','MN',17.9,1,910,'2023-11-01'),(14,'Aubergine Parmigiana','MN',14.5,1,640,'2021-09-01'),
(15,'Veal Milanese','MN',22.5,0,790,'2024-03-01'),(16,'Pumpkin Ravioli','MN',15.9,1,610,'2024-10-01'),
(17,'Tiramisu','DS',7.5,1,450,'2020-02-01'),(18,'Panna Cotta','DS',6.9,0,390,'2020-02-01'),(19,'Lemon Sorbet','DS',5.5,1,160,'2021-06-01'),(20,'Chocolate Fondant','DS',8.5,1,560,'2022-01-15'),
(21,'French Fries','SD',4.5,1,420,'2020-02-01'),(22,'Rocket Salad','SD',5.5,1,120,'2020-02-01'),(23,'Garlic Bread','SD',4.5,1,330,'2020-02-01'),(24,'Polenta Chips','SD',5.9,1,NULL,'2025-04-01'),
(25,'Espresso','DR',2.5,1,5,'2020-02-01'),(26,'House Red (glass)','DR',6,1,125,'2020-02-01'),(27,'House White (glass)','DR',6,1,120,'2020-02-01'),(28,'Still Water','DR',3.5,1,0,'2020-02-01'),
(29,'Lemonade','DR',3.9,1,140,'2022-05-01'),(30,'Negroni','DR',9.5,1,200,'2023-02-01'),(31,'Alcohol-free Spritz','DR',7.5,1,NULL,'2026-05-01'),(32,'Oysters','ST',18,0,80,'2026-09-01');
CREATE TABLE diningTables (tableNo INTEGER PRIMARY KEY, area VARCHAR, seats INTEGER);
INSERT INTO diningTables VALUES (1,'Main room',2),(2,'Main room',2),(3,'Main room',4),(4,'Main room',4),(5,'Main room',4),(6,'Main room',6),(7,'Terrace',2),(8,'Terrace',4),(9,'Terrace',4),(10,'Terrace',6),(11,'Bar',2),(12,'Bar',2),(13,'Private room',12),(14,'Bar',3);
CREATE TABLE staff (staffId INTEGER PRIMARY KEY, fullName VARCHAR, role VARCHAR, hiredOn DATE, leftOn DATE, hourlyWage DOUBLE, bornOn DATE);
INSERT INTO staff VALUES
(1,'Giulia Ferraro','Manager','2020-01-15',NULL,24,'1979-04-02'),(2,'Marco Bellini','Head chef','2020-01-15',NULL,23.5,'1974-11-23'),(3,'Tess Whitmore','Waiter','2020-06-01',NULL,13.5,'1996-08-14'),
(4,'Andrei Popescu','Waiter','2021-03-08','2024-08-31',13,'1993-01-30'),(5,'Lucy Adeyemi','Waiter','2021-05-17',NULL,13.5,'1999-12-05'),(6,'Pablo Serrano','Waiter','2022-04-04',NULL,12.75,'2001-07-19'),
(7,'Hannah Kim','Waiter','2023-06-12',NULL,12.5,'2003-03-27'),(8,'Joel Adams','Waiter','2024-09-02',NULL,12.25,'2004-10-10'),(9,'Fatima Zahid','Sous chef','2021-02-01',NULL,18,'1988-06-08'),
(10,'Ben Croft','Line cook','2022-08-22',NULL,14,'1995-02-17'),(11,'Wei Zhang','Line cook','2023-01-09','2025-05-30',14,NULL),(12,'Nina Orlova','Bartender','2022-05-02',NULL,15,'1992-09-01'),
(13,'Sean Murphy','Dishwasher','2024-02-12',NULL,11.5,'1985-05-21'),(14,'Carla Reis','Waiter','2026-10-05',NULL,12,'2005-06-30'),(15,'Tom Lacey','Dishwasher','2020-02-01','2023-12-31',11,NULL);
CREATE TABLE orders (orderId INTEGER PRIMARY KEY, tableNo INTEGER REFERENCES diningTables(tableNo), waiterId INTEGER REFERENCES staff(staffId), openedAt TIMESTAMP, closedAt TIMESTAMP, guests INTEGER, tip DOUBLE, paidBy VARCHAR);
INSERT INTO orders
SELECT 5000+o, tableNo, waiterId, ts,
  CASE WHEN o = 160 THEN NULL ELSE ts + to_minutes((38 + 6*least(guests,6) + hash(o,'dur')%55)::INT) END,
  guests,
  CASE WHEN o=160 OR hash(o,'tipn')%4=0 THEN NULL ELSE [1.0,2,2,3,4,5,5,8,10,15][1+(hash(o,'tip')%10)::INT] + (guests>4)::INT*6 END,
  CASE WHEN o=160 THEN NULL ELSE ['card','card','card','card','cash','cash','phone','voucher'][1+(hash(o,'pay')%8)::INT] END
FROM (SELECT o::INTEGER o, ts, t.tableNo, least(t.seats, 1+(hash(o,'g')%t.seats)::INT + (hash(o,'g2')%2)::INT) guests,
    CASE WHEN ts < TIMESTAMP '2022-04-10' THEN [3,4,5][1+(hash(o,'w')%3)::INT]
         WHEN ts < TIMESTAMP '2024-08-25' THEN [3,3,4,5,6,5][1+(hash(o,'w')%6)::INT]
         ELSE [3,3,5,6,7,8,5,3][1+(hash(o,'w')%8)::INT] END waiterId
  FROM (SELECT o, CASE WHEN o=160 THEN TIMESTAMP '2026-11-17 21:10:00' ELSE
     (DATE '2021-06-01' + (1990*pow(o/160.0,0.75))::INT - CASE WHEN hash(o,'we')%3=0 THEN 0 ELSE [2,3,0,0,0,0,1][isodow(DATE '2021-06-01' + (1990*pow(o/160.0,0.75))::INT)] END)::TIMESTAMP
      + to_minutes(([12,12,13,13,18,19,19,19,20,20,20,21][1+(hash(o,'h')%12)::INT]*60 + 5*(hash(o,'m')%12)::INT)::INT) END ts FROM range(1,161) t(o)) x
  JOIN diningTables t ON t.tableNo = [1,2,3,3,4,4,5,6,7,8,8,9,10,11,3,13][1+(hash(o,'tb')%16)::INT]);
CREATE TABLE orderLines (orderId INTEGER REFERENCES orders(orderId), dishId INTEGER REFERENCES dishes(dishId), qty INTEGER, note VARCHAR, PRIMARY KEY (orderId, dishId));
INSERT INTO orderLines
SELECT orderId, dishId, least(guests, 1 + (hash(orderId,dishId,'q')%3)::INT), 
  CASE WHEN hash(orderId,dishId,'note')%15=0 THEN ['no onions','extra spicy','gluten free','sauce on the side'][1+(hash(orderId,dishId,'n2')%4)::INT] END
FROM orders o JOIN dishes d ON d.dishId IN ([11,6,12,8,7,11,13,9,14,10,15,16][1+(hash(orderId,'a')%12)::INT], [26,28,25,26,29,30,27,28][1+(hash(orderId,'b')%8)::INT],
   CASE WHEN hash(orderId,'c0')%5<2 THEN [1,3,5,2,4,5,21,23,22][1+(hash(orderId,'c')%9)::INT] END, CASE WHEN hash(orderId,'d0')%4=0 THEN [17,17,20,18,24][1+(hash(orderId,'d')%5)::INT] END)
WHERE d.onMenuSince <= o.openedAt;
DELETE FROM orders WHERE orderId NOT IN (SELECT orderId FROM orderLines);

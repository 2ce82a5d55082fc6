CREATE TABLE authors (author_id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, country VARCHAR, born INTEGER, died INTEGER);
INSERT INTO authors VALUES
(1,'Marta Lindqvist','Sweden',1968,NULL),(2,'Tomasz Wilk','Poland',1955,NULL),(3,'Eleanor Ashby','United Kingdom',1931,2009),
(4,'Kofi Mensah','Ghana',1979,NULL),(5,'Isabel Quiroga','Argentina',1947,2018),(6,'Daniel Harker','United States',1972,NULL),
(7,'Yuki Tanabe','Japan',1984,NULL),(8,'Rosalind Pike','United Kingdom',1963,NULL),(9,'Jean-Luc Fabre','France',1940,2001),
(10,'Priya Raman','India',1981,NULL),(11,'Sam Ogden','United Kingdom',1990,NULL),(12,'Claire Dumont','France',1976,NULL),
(13,'Walter Brandt','Germany',1928,1999),(14,'Nora Fitzgerald',NULL,1988,NULL),(15,'Olivia Chen','United States',1993,NULL);
CREATE TABLE books (book_id INTEGER PRIMARY KEY, title VARCHAR NOT NULL, author_id INTEGER REFERENCES authors(author_id), genre VARCHAR, format VARCHAR, pages INTEGER, list_price DOUBLE, published DATE, stock INTEGER);
INSERT INTO books VALUES
(1,'The Ice Ledger',1,'Crime','paperback',412,9.99,'2011-03-14',23),
(2,'Winter Debts',1,'Crime','paperback',388,9.99,'2014-09-02',11),
(3,'A Quiet Harbour',1,'Crime','hardcover',455,18.5,'2022-10-11',4),
(4,'Coal and Honey',2,'Fiction','paperback',530,12.5,'1998-05-20',7),
(5,'The Cartographer''s Widow',3,'Historical','paperback',344,8.99,'1979-02-01',15),
(6,'Candles for Mr Gray',3,'Historical','hardcover',298,16,'1985-11-12',0),
(7,'Gold Coast Kitchen',4,'Cooking','hardcover',240,27.95,'2019-04-04',9),
(8,'Pepper Soup Sundays',4,'Cooking','hardcover',212,24.95,'2023-06-15',12),
(9,'The River Has No Name',5,'Fiction','paperback',276,11,'1982-08-30',6),
(10,'Tango in Grey',5,'Fiction','paperback',301,11,'1990-01-15',0),
(11,'Deep Orbit',6,'Science Fiction','paperback',498,10.99,'2016-07-19',31),
(12,'Deep Orbit: Return',6,'Science Fiction','paperback',540,10.99,'2018-07-24',27),
(13,'The Last Airlock',6,'Science Fiction','hardcover',467,21,'2024-02-06',8),
(14,'Paper Cranes at Noon',7,'Fiction','paperback',188,9.5,'2020-03-10',18),
(15,'The Cat Who Counted Trains',7,'Children','hardcover',48,13.99,'2021-11-02',40),
(16,'Murder at Low Tide',8,'Crime','paperback',320,8.99,'2003-06-06',14),
(17,'Murder at High Table',8,'Crime','paperback',336,8.99,'2006-06-02',10),
(18,'Murder by Post',8,'Crime','ebook',310,4.99,'2020-05-18',NULL),
(19,'Letters from Lyon',9,'Historical','paperback',402,10.5,'1971-09-09',2),
(20,'Monsoon Algebra',10,'Science','hardcover',352,22.5,'2017-01-24',6),
(21,'Why Rivers Bend',10,'Science','paperback',264,12.99,'2021-08-17',13),
(22,'The Hungry Mathematician',10,'Science','ebook',228,7.99,'2024-09-10',NULL),
(23,'Muddy Boots',11,'Travel','paperback',256,10.99,'2019-05-07',17),
(24,'Ferries I Have Missed',11,'Travel','paperback',288,10.99,'2022-05-05',21),
(25,'Bread, Salt, Patience',12,'Cooking','hardcover',320,29.95,'2015-10-20',5),
(26,'Soup for One',12,'Cooking','ebook',160,6.99,'2021-01-12',NULL),
(27,'The Clockmaker of Ulm',13,'Historical','paperback',610,13.5,'1966-04-01',3),
(28,'Iron Winter',13,'Historical','paperback',588,13.5,'1974-10-15',1),
(29,'Salt Hour',14,'Poetry','paperback',96,8,'2018-02-13',9),
(30,'Small Weather',14,'Poetry','paperback',88,8,'2023-03-21',14),
(31,'Bear Learns to Wait',15,'Children','hardcover',36,11.99,'2020-09-01',35),
(32,'Bear Loses a Tooth',15,'Children','hardcover',36,11.99,'2022-09-06',29),
(33,'Bear and the Big Bus',15,'Children','hardcover',40,12.99,'2025-09-02',44),
(34,'Seven Bridges',2,'Travel','hardcover',224,19.99,'2009-04-28',0),
(35,'Notes on an Unwritten Atlas',NULL,'Travel','paperback',176,9.99,'2012-07-01',2),
(36,'The Shop Anthology',NULL,'Poetry','paperback',144,7.5,NULL,6);
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, first_name VARCHAR, last_name VARCHAR, email VARCHAR, city VARCHAR, birth_date DATE, joined_on DATE, newsletter INTEGER);
INSERT INTO customers
SELECT i, fn, ln,
  CASE WHEN hash(i,'em')%9=0 THEN NULL ELSE lower(fn)||'.'||lower(ln)||'@'||['gmail.com','outlook.com','mail.net'][1+(hash(i,'dom')%3)::INT] END,
  ['Bristol','Bristol','Bristol','Bath','Bath','Cardiff','Cardiff','Exeter','Gloucester','Swindon'][1+(hash(i,'city')%10)::INT],
  CASE WHEN hash(i,'nb')%7=0 THEN NULL ELSE DATE '1944-03-01' + ((hash(i,'bd')%22600)::INT) END,
  DATE '2020-01-06' + ((hash(i,'jo')%2300)::INT),
  (hash(i,'nl')%5<2)::INT
FROM (SELECT i::INTEGER i,
  ['Anna','James','Olu','Grace','Peter','Mina','Harry','Sofia','Liam','Beth','Carlos','Ruth','Ivan','Chloe','Dev','Emma','Frank','Gita','Hugo','Ines'][1+((i*7)%20)::INT] fn,
  ['Baker','Okafor','Hughes','Novak','Singh','Turner','Walsh','Moreau','Price','Kent','Lopez','Ward','Yates'][1+((i*5)%13)::INT] ln
  FROM range(1,61) t(i));
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(customer_id), order_date DATE, channel VARCHAR, shipped_on DATE, shipping_fee DOUBLE);
INSERT INTO orders
SELECT 1000+o, cid, od, ch,
  CASE WHEN od > DATE '2026-11-11' OR hash(o,'lost')%40=0 THEN NULL ELSE od + (1+(hash(o,'s1')%3)*(hash(o,'s2')%4)%9)::INT END,
  CASE WHEN hash(o,'fee')%3=0 THEN 0 WHEN hash(o,'fee')%3=1 THEN 2.99 ELSE 4.5 END
FROM (SELECT o::INTEGER o, c.customer_id cid,
   greatest(c.joined_on, DATE '2021-01-04') + ((DATE '2026-11-16' - greatest(c.joined_on, DATE '2021-01-04')) * (1-pow((hash(o,'d')%1000)/1000.0,1.4)))::INT od,
   ['web','web','web','web','app','app','phone'][1+(hash(o,'ch')%7)::INT] ch
 FROM range(1,221) t(o) JOIN customers c ON c.customer_id = 1 + floor(54*pow((hash(o,'c')%1000)/1000.0,1.7))::INT);
CREATE TABLE order_items (order_id INTEGER REFERENCES orders(order_id), book_id INTEGER REFERENCES books(book_id), qty INTEGER, unit_price DOUBLE, PRIMARY KEY (order_id, book_id));
INSERT INTO order_items
SELECT order_id, book_id, max(q)::INTEGER, max(p) FROM (
 SELECT o.order_id, b.book_id, CASE WHEN hash(o.order_id,k,'q')%6=0 THEN 2 WHEN hash(o.order_id,k,'q')%25=1 THEN 5 ELSE 1 END q,
  CASE WHEN hash(o.order_id,'disc')%5=0 THEN round(b.list_price*0.9,2) ELSE b.list_price END p
 FROM orders o, range(0,3) t(k), books b
 WHERE k <= (hash(o.order_id,'n')%5)//2 AND b.book_id = 1+((floor(34*pow((hash(o.order_id,k,'b')%1000)/1000.0,1.5))::INT * 8 + 10) % 35)
   AND (b.published IS NULL OR b.published <= o.order_date))
GROUP BY 1,2;
DELETE FROM orders WHERE order_id NOT IN (SELECT order_id FROM order_items);

CREATE TABLE port (port_code VARCHAR PRIMARY KEY, port_name VARCHAR NOT NULL, country VARCHAR NOT NULL, region VARCHAR);
INSERT INTO port VALUES
('NLRTM','Rotterdam','Netherlands','Europe'),('DEHAM','Hamburg','Germany','Europe'),('DEBRV','Bremerhaven','Germany','Europe'),
('PLGDN','Gdansk','Poland','Europe'),('CNSHA','Shanghai','China','Asia'),('SGSIN','Singapore','Singapore','Asia'),
('KRPUS','Busan','South Korea','Asia'),('INNSA','Nhava Sheva','India','Asia'),('AEJEA','Jebel Ali','United Arab Emirates','Middle East'),
('BRSSZ','Santos','Brazil','South America'),('CLVAP','Valparaiso','Chile','South America'),('USLAX','Los Angeles','United States','North America'),
('ZADUR','Durban','South Africa','Africa');
CREATE TABLE vessel (imo INTEGER PRIMARY KEY, vessel_name VARCHAR NOT NULL, flag VARCHAR, yr_built INTEGER, cap_teu INTEGER, length_m DOUBLE);
INSERT INTO vessel VALUES
(9300101,'Baltic Swan','Poland',1999,1730,184.5),(9300202,'Ever Patient','Panama',2014,8450,334.0),(9300303,'Maria Celeste','Panama',2007,5060,294.1),
(9300404,'Nordic Heron','Norway',2018,3600,222.2),(9300505,'Orient Pearl','Hong Kong',2021,14200,366.0),(9300606,'Cape Agulhas','Liberia',2003,2820,207.4),
(9300707,'Santa Teresa','Liberia',2011,7100,299.9),(9300808,'Jade Horizon','Hong Kong',2021,15300,368.5),(9300909,'Old Faithful','Panama',NULL,1100,158.0),
(9301010,'Blue Marlin','Liberia',2024,9400,336.7);
CREATE TABLE customer (cust_id INTEGER PRIMARY KEY, cust_name VARCHAR NOT NULL, country VARCHAR, since DATE, credit_days INTEGER);
INSERT INTO customer VALUES
(1,'Nordfrukt AS','Norway','2015-03-01',30),(2,'Kowalski Furniture','Poland','2018-09-15',45),(3,'Bright Toys Ltd','United Kingdom','2020-01-20',30),
(4,'Hansa Coffee GmbH','Germany','2012-06-11',60),(5,'Delta Machinery BV','Netherlands','2016-11-30',60),(6,'Sunrise Electronics','China','2019-04-04',14),
(7,'Cape Citrus Exports','South Africa','2021-08-23',30),(8,'Polmeat SA','Poland','2022-02-01',NULL),(9,'Ganges Textiles','India','2017-05-17',45),
(10,'Lone Star Chemicals','United States','2019-12-12',30),(11,'Verde Wines','Chile','2024-03-05',14),(12,'Rhein Autoteile','Germany','2014-10-08',45);
CREATE TABLE status_code (status_cd VARCHAR PRIMARY KEY, meaning VARCHAR);
INSERT INTO status_code VALUES ('B','Booked'),('T','In transit'),('A','Arrived'),('C','Cancelled'),('H','Held by customs');
CREATE TABLE shipment (shipment_no VARCHAR PRIMARY KEY, cust_id INTEGER REFERENCES customer(cust_id), imo INTEGER REFERENCES vessel(imo),
 origin VARCHAR REFERENCES port(port_code), dest VARCHAR REFERENCES port(port_code), booked_dt DATE, sailed_dt DATE, eta DATE, arrived_dt DATE,
 status_cd VARCHAR REFERENCES status_code(status_cd), freight_usd DOUBLE, demurrage_usd DOUBLE);
INSERT INTO shipment
WITH b AS (
 SELECT i, DATE '2022-01-05' + CAST(floor(i * 9.82) + hash(i,'j') % 6 AS INTEGER) AS booked,
  CAST(3 + hash(i,'s') % 14 AS INTEGER) AS lag, CAST(12 + hash(i,'t') % 30 AS INTEGER) AS plan,
  CASE WHEN hash(i,'l') % 10 < 4 THEN CAST(1 + hash(i,'d') % 11 AS INTEGER) WHEN hash(i,'l') % 10 < 6 THEN 0 ELSE -CAST(hash(i,'e') % 4 AS INTEGER) END AS late,
  [4,4,4,4,1,1,1,5,5,6,6,6,6,6,9,9,10,2,2,3,7,7,12,12,8][1 + CAST(hash(i,'c') % 25 AS INTEGER)] AS cust,
  [9300505,9300505,9300505,9300808,9300808,9300202,9300202,9300303,9300404,9300404,9300101,9300606,9300707,9300707][1 + CAST(hash(i,'v') % 14 AS INTEGER)] AS imo,
  ['CNSHA','CNSHA','CNSHA','CNSHA','SGSIN','SGSIN','KRPUS','INNSA','BRSSZ','BRSSZ','ZADUR','USLAX','DEHAM','AEJEA'][1 + CAST(hash(i,'o') % 14 AS INTEGER)] AS o,
  ['NLRTM','NLRTM','NLRTM','DEHAM','DEHAM','PLGDN','PLGDN','USLAX','DEBRV','SGSIN','BRSSZ','KRPUS'][1 + CAST(hash(i,'p') % 12 AS INTEGER)] AS d0
 FROM range(1,181) r(i)),
c AS (SELECT *, CASE WHEN d0 = o THEN 'NLRTM' ELSE d0 END AS d, booked + lag AS sl, booked + lag + plan AS et, booked + lag + plan + late AS ar,
  hash(i,'x') % 17 = 0 AS canc FROM b)
SELECT 'SH-' || lpad(CAST(i AS VARCHAR),4,'0'), cust, imo, o, d, booked,
 CASE WHEN canc OR sl > DATE '2026-11-17' THEN NULL ELSE sl END, CASE WHEN canc THEN NULL ELSE et END,
 CASE WHEN canc OR ar > DATE '2026-11-17' THEN NULL ELSE ar END,
 CASE WHEN canc THEN 'C' WHEN sl > DATE '2026-11-17' THEN 'B' WHEN ar > DATE '2026-11-17' THEN 'T' ELSE 'A' END,
 CASE WHEN canc THEN NULL ELSE 1200 + (hash(i,'f') % 160) * 45 + (year(booked) - 2022) * 150 END,
 CASE WHEN canc OR ar > DATE '2026-11-17' OR late < 4 THEN NULL ELSE late * 85 END
FROM c;
CREATE TABLE container (container_no VARCHAR PRIMARY KEY, shipment_no VARCHAR REFERENCES shipment(shipment_no), size_ft INTEGER, cargo VARCHAR, weight_kg INTEGER, reefer BOOLEAN, damaged BOOLEAN);
INSERT INTO container
WITH s AS (SELECT CAST(substr(shipment_no,4) AS INTEGER) AS i, shipment_no, cust_id, imo, status_cd FROM shipment WHERE status_cd <> 'C'),
k AS (SELECT s.*, j FROM s, range(0,4) r(j) WHERE j <= CAST(hash(i,'n') % 4 AS INTEGER) AND j <= 2),
q AS (SELECT *, CASE cust_id WHEN 1 THEN ['Bananas','Bananas','Oranges'] WHEN 2 THEN ['Furniture','Timber','Furniture'] WHEN 3 THEN ['Toys','Toys','Toys']
 WHEN 4 THEN ['Coffee','Coffee','Cocoa'] WHEN 5 THEN ['Machinery','Machinery','Spare parts'] WHEN 6 THEN ['Televisions','Phones','Laptops'] WHEN 7 THEN ['Oranges','Lemons','Oranges']
 WHEN 8 THEN ['Frozen meat','Frozen meat','Frozen meat'] WHEN 9 THEN ['Cotton','Garments','Garments'] WHEN 10 THEN ['Solvents','Fertilizer','Solvents'] ELSE ['Car parts','Tyres','Car parts'] END AS cs FROM k)
SELECT 'MSTU' || CAST(100000 + i * 37 + j * 7 AS VARCHAR), shipment_no, CASE WHEN hash(i,j,'z') % 10 < 3 THEN 20 WHEN hash(i,j,'z') % 10 < 9 THEN 40 ELSE 45 END,
 cs[1 + CAST(hash(i,j,'g') % 3 AS INTEGER)], CASE WHEN hash(i,j,'wn') % 40 = 0 THEN NULL ELSE CAST(4000 + (hash(i,j,'w') % 450) * 50 AS INTEGER) END,
 cs[1 + CAST(hash(i,j,'g') % 3 AS INTEGER)] IN ('Bananas','Oranges','Lemons','Frozen meat'), status_cd = 'A' AND hash(i,j,'dm') % 16 = 0 FROM q;

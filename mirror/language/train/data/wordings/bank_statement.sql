CREATE TABLE statement ("Booking Date" DATE, "Value Date" DATE, "Type" VARCHAR, "Payee" VARCHAR, "Category" VARCHAR, "Reference" VARCHAR, "Paid Out" DOUBLE, "Paid In" DOUBLE, "Balance" DOUBLE, "Foreign Ccy" VARCHAR, "Disputed" VARCHAR);
INSERT INTO statement
WITH p(k, payee, cat, typ, base, ccy) AS (VALUES
 (0,'Tesco Stores 3312','Groceries','CARD',46.0,NULL),(1,'Tesco Stores 3312','Groceries','CARD',61.0,NULL),(2,'Lidl GB Leeds','Groceries','CARD',29.0,NULL),
 (3,'Pret A Manger','Eating out','CARD',7.5,NULL),(4,'The Old Bell','Eating out','CARD',24.0,NULL),(5,'Trainline','Travel','CARD',38.0,NULL),
 (6,'Shell Harrogate Rd','Travel','CARD',55.0,NULL),(7,'Cash Leeds Headrow','Cash','ATM',50.0,NULL),(8,'Amazon Marketplace','Shopping','CARD',33.0,NULL),
 (9,'Boots 1187','Health','CARD',12.0,NULL),(10,'Hotel Sol Malaga','Travel','CARD',140.0,'EUR'),(11,'Steam Games','Leisure','CARD',19.0,'USD'),
 (12,'Lidl GB Leeds','Groceries','CARD',35.0,NULL),(13,'K. Whitmore',NULL,'TRF',80.0,NULL),(14,'Vue Cinemas','Leisure','CARD',15.0,NULL),(15,'Overdraft Charge','Bank fees','FEE',9.0,NULL)),
r AS (
 SELECT DATE '2024-01-01' + CAST(hash(i,'d') % 1053 AS INTEGER) AS d, CAST(1 + hash(i,'v') % 3 AS INTEGER) AS lag, typ, payee, cat, 'POS ' || (100000 + hash(i,'r') % 900000) AS ref,
   round(base * (0.4 + (hash(i,'a') // 1024 % 160) / 100.0), 2) AS po, NULL::DOUBLE AS pi, ccy, CASE WHEN hash(i,'x') % 17 = 0 THEN 'Y' END AS disp
 FROM range(180) t(i) JOIN p ON p.k = CAST(hash(i,'p') % 16 AS INTEGER)
 UNION ALL SELECT CAST(DATE '2024-01-28' + to_months(CAST(m AS INTEGER)) AS DATE), 0, 'BGC', CASE WHEN m < 20 THEN 'Aire Valley NHS Trust' ELSE 'Northern Optics Ltd' END, 'Salary', 'PAYROLL', NULL, 1985.0 + 35 * (m // 6), NULL, NULL FROM range(34) s(m)
 UNION ALL SELECT CAST(DATE '2024-01-01' + to_months(CAST(m AS INTEGER)) AS DATE), 0, 'SO', 'Haines Lettings', 'Rent', 'FLAT 4B', 760.0 + 30 * (m // 12), NULL, NULL, NULL FROM range(35) s(m)
 UNION ALL SELECT CAST(DATE '2024-01-15' + to_months(CAST(m AS INTEGER)) AS DATE), 2, 'DD', 'Octopus Energy', 'Bills', 'A-7731C0', round(58 + 55 * cos(m * 0.5236) + m * 0.8, 2), NULL, NULL, NULL FROM range(35) s(m)
 UNION ALL SELECT CAST(DATE '2024-03-09' + to_months(CAST(m * 4 AS INTEGER)) AS DATE), 1, 'TRF', 'K. Whitmore', NULL, 'thanks', NULL, 45.0 + 20 * (m % 3), NULL, NULL FROM range(8) s(m))
SELECT d, d + lag, typ, payee, cat, ref, po, pi, round(310 + sum(coalesce(pi, 0) - coalesce(po, 0)) OVER (ORDER BY d, payee, ref), 2), ccy, disp FROM r ORDER BY d, payee, ref;

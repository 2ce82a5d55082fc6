CREATE TABLE Customers (customerId INTEGER PRIMARY KEY, fullName VARCHAR, country VARCHAR, signupDate DATE, newsletter INTEGER);
INSERT INTO Customers
SELECT 200 + i, (['Anna','Lukas','Sophie','Jonas','Marie','Felix','Lena','Paul','Clara','Emil','Nora','Finn','Ida','Matthias','Camille','Pieter','Freja','Hugo','Greta','Stefan','Julia','Bram','Elise','Urs','Katrin'])[1 + i % 25] || ' ' || (['Weber','Huber','Meier','de Vries','Moreau','Jensen','Schmidt','Gruber','Keller','Bakker','Lefevre','Nielsen','Wagner','Steiner','Frei','Visser'])[1 + (i * 3 + i // 25) % 16],
 CASE WHEN CAST(hash(i, 'ct') % 100 AS INTEGER) < 45 THEN 'Germany' WHEN CAST(hash(i, 'ct') % 100 AS INTEGER) < 63 THEN 'Austria' WHEN CAST(hash(i, 'ct') % 100 AS INTEGER) < 76 THEN 'Switzerland' WHEN CAST(hash(i, 'ct') % 100 AS INTEGER) < 88 THEN 'Netherlands' WHEN CAST(hash(i, 'ct') % 100 AS INTEGER) < 95 THEN 'France' ELSE 'Denmark' END,
 DATE '2022-02-01' + CAST(hash(i, 'su') % 1650 AS INTEGER), CASE WHEN CAST(hash(i, 'nl') % 100 AS INTEGER) < 38 THEN 1 ELSE 0 END
FROM range(1, 81) t(i);
CREATE TABLE Products (sku VARCHAR PRIMARY KEY, productName VARCHAR, category VARCHAR, unitPrice DOUBLE, costPrice DOUBLE, discontinued INTEGER);
INSERT INTO Products VALUES
 ('BO-110', 'Wander Low Hiking Shoes', 'Footwear', 119.90, 58.00, 0),
 ('BP-025', 'Kestrel Daypack 25 l', 'Backpacks', 79.95, 34.50, 0),
 ('CK-001', 'Titanium Mug', 'Cooking', 24.90, 9.80, 0),
 ('TE-200', 'Nordkap 2 Tent', 'Tents', 349.00, 190.00, 0),
 ('LI-010', 'Glow Headlamp', 'Lights', 34.50, 14.20, 0),
 ('SL-300', 'Polar 300 Sleeping Bag', 'Sleeping', 189.00, 92.00, 0),
 ('CK-015', 'Spark Gas Stove', 'Cooking', 44.95, 19.00, 0),
 ('SL-050', 'Cloud Sleeping Mat', 'Sleeping', 89.00, 41.00, 0),
 ('BO-220', 'Ridge Mountain Boots', 'Footwear', 229.00, 118.00, 0),
 ('CK-030', 'Camp Pot Set', 'Cooking', 59.90, 27.00, 0),
 ('BP-060', 'Condor Trekking Pack 60 l', 'Backpacks', 199.00, 97.00, 0),
 ('LI-020', 'Solar Lantern', 'Lights', 29.90, 12.10, 0),
 ('AC-001', 'Trekking Poles', 'Accessories', 69.00, 28.00, 0),
 ('AC-002', 'Dry Bag 10 l', 'Accessories', 17.50, 5.20, 0),
 ('TE-100', 'Solo 1 Tent', 'Tents', 259.00, 141.00, 0),
 ('AC-003', 'Water Filter', 'Accessories', 39.90, 17.30, 0),
 ('BP-040', 'Falcon Pack 40 l', 'Backpacks', 139.00, 66.00, 1),
 ('AC-004', 'Repair Tape', 'Accessories', 6.90, 1.90, 0),
 ('SL-100', 'Summer 100 Sleeping Bag', 'Sleeping', 99.00, 47.00, 0),
 ('CK-044', 'Spork Set', 'Cooking', 9.90, 2.60, 0),
 ('BO-305', 'River Sandals', 'Footwear', 64.90, 29.00, 0),
 ('TE-400', 'Family 4 Tent', 'Tents', 499.00, 288.00, 0),
 ('LI-033', 'Bike Light Duo', 'Lights', 27.90, 11.00, 1),
 ('AC-005', 'Compass Classic', 'Accessories', 22.50, 9.40, 0),
 ('CK-050', 'Thermos 0.75 l', 'Cooking', 32.00, 13.90, 0),
 ('SL-070', 'Inflatable Pillow', 'Sleeping', 19.90, 6.80, 1),
 ('TE-900', 'Expedition 3 Tent', 'Tents', 899.00, 530.00, 0),
 ('AC-006', 'Emergency Blanket', 'Accessories', 7.50, 1.60, 0),
 ('LI-044', 'Camp String Lights', 'Lights', 36.00, 15.00, 0),
 ('BO-400', 'Winter Gaiters', 'Footwear', 54.00, 24.00, 0);
CREATE TABLE Orders (orderId INTEGER PRIMARY KEY, customerId INTEGER REFERENCES Customers(customerId), placedAt TIMESTAMP, shippedOn DATE, channel VARCHAR, couponCode VARCHAR);
INSERT INTO Orders
SELECT 50000 + row_number() OVER (ORDER BY placed, i) * 3, customerId, placed,
 CASE WHEN placed >= TIMESTAMP '2026-10-24' THEN NULL ELSE CAST(placed AS DATE) + CASE WHEN CAST(hash(i, 'sh') % 100 AS INTEGER) < 30 THEN 0 WHEN CAST(hash(i, 'sh') % 100 AS INTEGER) < 70 THEN 1 WHEN CAST(hash(i, 'sh') % 100 AS INTEGER) < 92 THEN 2 + CAST(hash(i, 'sd') % 2 AS INTEGER) ELSE 5 + CAST(hash(i, 'sd') % 5 AS INTEGER) END END,
 CASE WHEN CAST(hash(i, 'ch') % 100 AS INTEGER) < 55 THEN 'website' WHEN CAST(hash(i, 'ch') % 100 AS INTEGER) < 85 THEN 'app' ELSE 'marketplace' END,
 CASE WHEN CAST(hash(i, 'cp') % 100 AS INTEGER) < 9 THEN 'WELCOME10' WHEN CAST(hash(i, 'cp') % 100 AS INTEGER) < 17 THEN 'SUMMER' WHEN CAST(hash(i, 'cp') % 100 AS INTEGER) < 20 THEN 'FRIENDS' ELSE NULL END
FROM (SELECT i, customerId, CAST(least(signupDate + (CAST(hash(i, 'od') % 900 AS INTEGER)) * (CAST(hash(i, 'oe') % 2 AS INTEGER)) + CAST(hash(i, 'of') % 420 AS INTEGER), greatest(signupDate, DATE '2026-11-17' - CAST(hash(i, 'og') % 520 AS INTEGER))) AS TIMESTAMP)
   + to_minutes(60 * CASE WHEN CAST(hash(i, 'hr') % 100 AS INTEGER) < 22 THEN 20 WHEN CAST(hash(i, 'hr') % 100 AS INTEGER) < 36 THEN 21 WHEN CAST(hash(i, 'hr') % 100 AS INTEGER) < 50 THEN 12 ELSE 7 + CAST(hash(i, 'hx') % 16 AS INTEGER) END + CAST(hash(i, 'mi') % 60 AS INTEGER)) AS placed
  FROM (SELECT i, 201 + CAST(floor(pow((CAST(hash(i, 'cu') % 1000 AS INTEGER)) / 1000.0, 1.6) * 74) AS INTEGER) AS customerId FROM range(1, 191) t(i)) r JOIN Customers USING (customerId)) x;
CREATE TABLE OrderLines (orderId INTEGER REFERENCES Orders(orderId), lineNo INTEGER, sku VARCHAR REFERENCES Products(sku), qty INTEGER, priceEach DOUBLE, PRIMARY KEY (orderId, lineNo));
INSERT INTO OrderLines
SELECT orderId, k + 1, sku, CASE WHEN unitPrice > 100 THEN 1 WHEN CAST(hash(orderId * 10 + k, 'qt') % 100 AS INTEGER) < 62 THEN 1 WHEN CAST(hash(orderId * 10 + k, 'qt') % 100 AS INTEGER) < 88 THEN 2 ELSE 3 + CAST(hash(orderId, 'qu') % 3 AS INTEGER) END,
 round(unitPrice * CASE WHEN couponCode IS NOT NULL THEN 0.9 WHEN placedAt < TIMESTAMP '2024-06-01' THEN 0.95 ELSE 1 END, 2)
FROM (SELECT orderId, placedAt, couponCode, k, (CAST(floor(pow((CAST(hash(orderId, 'pb') % 1000 AS INTEGER)) / 1000.0, 1.5) * 28) AS INTEGER) + k * 5) % 28 + 1 AS pn
  FROM Orders, range(0, 4) g(k) WHERE k = 0 OR k <= CAST(hash(orderId, 'nl') % 4 AS INTEGER) - CAST(hash(orderId, 'nm') % 2 AS INTEGER)) l
 JOIN (SELECT sku, unitPrice, row_number() OVER (ORDER BY pos) AS pn FROM (SELECT sku, unitPrice, rowid AS pos FROM Products)) p USING (pn);
CREATE TABLE Returns (returnId INTEGER PRIMARY KEY, orderId INTEGER REFERENCES Orders(orderId), sku VARCHAR REFERENCES Products(sku), returnedOn DATE, reason VARCHAR, refund DOUBLE);
INSERT INTO Returns
SELECT row_number() OVER (ORDER BY shippedOn, orderId, lineNo), orderId, sku, shippedOn + (5 + CAST(hash(h, 'rd') % 24 AS INTEGER)),
 CASE WHEN category = 'Footwear' AND CAST(hash(h, 'rr') % 10 AS INTEGER) < 7 THEN 'wrong size' WHEN CAST(hash(h, 'rr') % 10 AS INTEGER) < 4 THEN 'did not like it' WHEN CAST(hash(h, 'rr') % 10 AS INTEGER) < 6 THEN 'arrived broken' WHEN CAST(hash(h, 'rr') % 10 AS INTEGER) < 8 THEN 'wrong item' ELSE NULL END,
 round(qty * priceEach * CASE WHEN CAST(hash(h, 'rp') % 6 AS INTEGER) = 0 THEN 0.5 ELSE 1 END, 2)
FROM (SELECT l.*, o.shippedOn, p.category, l.orderId * 10 + l.lineNo AS h FROM OrderLines l JOIN Orders o USING (orderId) JOIN Products p USING (sku))
WHERE shippedOn <= DATE '2026-10-15' AND CAST(hash(h, 'rt') % 100 AS INTEGER) < CASE WHEN category = 'Footwear' THEN 28 WHEN category = 'Backpacks' THEN 15 ELSE 8 END;
CREATE TABLE Reviews (reviewId INTEGER PRIMARY KEY, sku VARCHAR REFERENCES Products(sku), customerId INTEGER REFERENCES Customers(customerId), stars INTEGER, postedOn DATE, comment VARCHAR);
INSERT INTO Reviews
SELECT row_number() OVER (ORDER BY d, customerId, sku), sku, customerId,
 CASE WHEN sku IN ('BO-220', 'SL-050') THEN 1 + CAST(hash(h, 'sb') % 3 AS INTEGER) WHEN CAST(hash(h, 'sg') % 100 AS INTEGER) < 46 THEN 5 WHEN CAST(hash(h, 'sg') % 100 AS INTEGER) < 75 THEN 4 WHEN CAST(hash(h, 'sg') % 100 AS INTEGER) < 88 THEN 3 WHEN CAST(hash(h, 'sg') % 100 AS INTEGER) < 95 THEN 2 ELSE 1 END, d,
 CASE WHEN CAST(hash(h, 'cm') % 10 AS INTEGER) < 4 THEN NULL ELSE (['Great quality, would buy again', 'Does the job', 'Lighter than I expected', 'Fast delivery', 'A bit overpriced', 'Used it in the Alps for a week, no complaints', 'Colour differs from the photo'])[1 + CAST(hash(h, 'cn') % 7 AS INTEGER)] END
FROM (SELECT sku, customerId, max(shippedOn) + (3 + CAST(hash(customerId, sku) % 30 AS INTEGER)) AS d, CAST(hash(customerId, sku, 'x') % 1000000 AS INTEGER) AS h FROM OrderLines JOIN Orders USING (orderId) WHERE shippedOn < DATE '2026-10-10' GROUP BY sku, customerId)
WHERE CAST(hash(h, 'rv') % 100 AS INTEGER) < 34 AND customerId % 4 <> 1 AND sku <> 'AC-004';

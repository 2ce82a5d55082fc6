CREATE TABLE venues (venue_id INTEGER, venue VARCHAR, city VARCHAR, cap INTEGER, opened INTEGER);
INSERT INTO venues VALUES
 (1, 'Kulturfabrik', 'Berlin', 1200, 1991), (2, 'Club Molotow', 'Hamburg', 400, 1990), (3, 'Paradiso', 'Amsterdam', 1500, 1968), (4, 'Vega', 'Copenhagen', 1550, 1996), (5, 'Lokal 44', 'Berlin', 250, 2011),
 (6, 'Muffathalle', 'Munich', 1300, 1993), (7, 'Melkweg', 'Amsterdam', 1500, 1970), (8, 'Arena Nord', 'Hamburg', 5200, 2004), (9, 'Chelsea', 'Vienna', 300, 1986), (10, 'Old Gasworks', 'Vienna', 3200, 2001), (11, 'Harbour Shed', 'Copenhagen', 700, 2025);
CREATE TABLE bands (band_id INTEGER, band VARCHAR, genre VARCHAR, country VARCHAR, formed INTEGER);
INSERT INTO bands VALUES
 (1, 'The Hollow Pines', 'indie', 'Ireland', 2009), (2, 'Nachtlicht', 'electronic', 'Germany', 2014), (3, 'Iron Fjord', 'metal', 'Norway', 1996), (4, 'Saltwater Kids', 'indie', 'UK', 2016), (5, 'Marble Arcade', 'rock', 'UK', 2003), (6, 'Velvet Turbine', 'rock', 'Sweden', 2011),
 (7, 'Graveyard Choir', 'metal', 'Sweden', 2001), (8, 'DJ Okapi', 'electronic', 'Belgium', 2018), (9, 'Rosa & the Wires', 'folk', 'Spain', 2012), (10, 'Blue Tram', 'jazz', 'Netherlands', 1989), (11, 'Kometen', 'rock', 'Germany', 1998), (12, 'Paper Lanterns', 'indie', 'Denmark', 2019),
 (13, 'Old Crow Ferry', 'folk', 'Ireland', 2006), (14, 'Static Bloom', 'electronic', 'France', 2020), (15, 'Black Anvil Society', 'metal', 'Germany', 2013), (16, 'Honeyjar', 'indie', 'Sweden', 2021), (17, 'Quartet Nowak', 'jazz', 'Poland', 2010), (18, 'The Loud Neighbours', 'rock', 'UK', 2017),
 (19, 'Sister Cardigan', 'folk', 'UK', 2015), (20, 'Pilsner Kings', 'rock', 'Austria', 2008), (21, 'Moth Season', 'indie', 'Germany', 2022), (22, 'Tiny Avalanche', 'indie', 'Austria', 2020), (23, 'Rust Parade', 'metal', 'Denmark', 2018), (24, 'Lime Street Five', 'jazz', 'UK', NULL), (25, 'Yellow Cabinet', 'rock', 'Ireland', 2023);
CREATE TABLE concerts (gig_id INTEGER, gig_date DATE, band_id INTEGER, support_id INTEGER, venue_id INTEGER, fee INTEGER);
INSERT INTO concerts
SELECT 300 + row_number() OVER (ORDER BY d, i), d, b, CASE WHEN CAST(hash(i, 'no') % 100 AS INTEGER) < 34 OR s = b THEN NULL ELSE s END, v, CASE WHEN CAST(hash(i, 'fn') % 14 AS INTEGER) = 0 THEN NULL ELSE 500 + 250 * (CAST(hash(i, 'fe') % 9 AS INTEGER)) + CASE WHEN b < 8 THEN 3500 ELSE 0 END + CASE WHEN v IN (8, 10) THEN 4000 ELSE 0 END END
FROM (SELECT i, DATE '2022-01-03' + (CASE WHEN i > 104 THEN 255 + (CAST(hash(i, 'we') % 15 AS INTEGER)) ELSE (CAST(hash(i, 'wk') % 264 AS INTEGER)) END) * 7 + (CASE WHEN CAST(hash(i, 'do') % 100 AS INTEGER) < 30 THEN 5 WHEN CAST(hash(i, 'do') % 100 AS INTEGER) < 55 THEN 4 WHEN CAST(hash(i, 'do') % 100 AS INTEGER) < 72 THEN 3 ELSE CAST(hash(i, 'dw') % 7 AS INTEGER) END) AS d,
 1 + CAST(floor(pow((CAST(hash(i, 'bd') % 1000 AS INTEGER)) / 1000.0, 1.5) * 20) AS INTEGER) AS b, (CASE WHEN CAST(hash(i, 'sq') % 100 AS INTEGER) < 20 THEN 16 ELSE 12 + CAST(hash(i, 'sp') % 14 AS INTEGER) END) AS s, (CASE WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 20 THEN 1 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 34 THEN 2 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 47 THEN 3 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 55 THEN 4 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 70 THEN 5 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 79 THEN 6 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 84 THEN 7 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 90 THEN 8 WHEN CAST(hash(i, 'vn') % 100 AS INTEGER) < 95 THEN 9 ELSE 10 END) AS v
 FROM range(1, 119) t(i)) x;
CREATE TABLE ticket_cats (cat VARCHAR, meaning VARCHAR);
INSERT INTO ticket_cats VALUES ('ST', 'standing'), ('SE', 'seated'), ('VIP', 'vip package'), ('RD', 'reduced'), ('GL', 'guest list');
CREATE TABLE ticket_sales (sale_no INTEGER, gig_id INTEGER, cat VARCHAR, sold_on DATE, qty INTEGER, price DOUBLE, shop VARCHAR);
INSERT INTO ticket_sales
SELECT row_number() OVER (ORDER BY sold_on, h), gig_id, cat, sold_on, qty, price, shop
FROM (SELECT h, gig_id, cat, gig_date - CASE WHEN CAST(hash(h, 'bo') % 6 AS INTEGER) = 0 THEN 0 ELSE 2 + CAST(hash(h, 'so') % 85 AS INTEGER) END AS sold_on, CASE WHEN CAST(hash(h, 'bo') % 6 AS INTEGER) = 0 THEN 'box office' WHEN CAST(hash(h, 'sh') % 100 AS INTEGER) < 64 THEN 'online' WHEN CAST(hash(h, 'sh') % 100 AS INTEGER) < 85 THEN 'record store' ELSE 'box office' END AS shop,
  greatest(2, CAST(floor(cap * fill * CASE cat WHEN 'ST' THEN 0.58 WHEN 'SE' THEN 0.24 WHEN 'VIP' THEN 0.04 ELSE 0.13 END * (0.8 + (CAST(hash(h, 'qt') % 200 AS INTEGER)) / 1000.0)) AS INTEGER)) AS qty,
  (base + CASE cat WHEN 'SE' THEN 6 WHEN 'VIP' THEN 55 WHEN 'RD' THEN -7 ELSE 0 END) * 1.0 AS price
 FROM (SELECT g.*, v.cap, k.cat, g.gig_id * 10 + k.n AS h, 17 + CASE WHEN g.band_id < 8 THEN 14 ELSE 0 END + CASE WHEN v.cap > 2000 THEN 12 ELSE 0 END + (year(g.gig_date) - 2022) * 2 + CAST(hash(g.gig_id, 'bp') % 6 AS INTEGER) AS base, 0.28 + (CAST(hash(g.gig_id, 'fl') % 680 AS INTEGER)) / 1000.0 + CASE WHEN g.band_id < 5 THEN 0.08 ELSE 0 END AS fill
  FROM concerts g JOIN venues v USING (venue_id), (VALUES ('ST', 1), ('SE', 2), ('VIP', 3), ('RD', 4)) k(cat, n)) y
 WHERE cat = 'ST' OR (cat = 'SE' AND cap > 500) OR (cat = 'VIP' AND base > 35) OR (cat = 'RD' AND CAST(hash(h, 'rd') % 3 AS INTEGER) > 0)) z
WHERE sold_on <= DATE '2026-11-17';

CREATE TABLE sales (saleId INTEGER PRIMARY KEY, saleName VARCHAR, heldOn DATE, venue VARCHAR, kind VARCHAR, premiumPct DOUBLE);
INSERT INTO sales VALUES
 (1, 'Old Masters Spring', '2022-03-16', 'Grand Hall', 'evening', 24), (2, 'Modern British', '2022-06-09', 'Mercer Room', 'day', 24),
 (3, 'Prints and Multiples Online', '2022-10-20', NULL, 'online', 20), (4, 'Winter Sale', '2022-12-07', 'Grand Hall', 'evening', 24),
 (5, 'Impressionist Evening', '2023-04-19', 'Grand Hall', 'evening', 25), (6, 'Photographs', '2023-09-28', 'Mercer Room', 'day', 25),
 (7, 'Autumn Online', '2023-11-08', NULL, 'online', 20), (8, 'Postwar and Contemporary', '2024-03-06', 'Grand Hall', 'evening', 26),
 (9, 'Summer Day Sale', '2024-07-03', 'Riverside Gallery', 'day', 26), (10, 'Marine Paintings', '2024-10-16', 'Mercer Room', 'day', 26),
 (11, 'Spring Contemporary', '2025-03-26', 'Grand Hall', 'evening', 26), (12, 'Works on Paper Online', '2025-06-18', NULL, 'online', 22),
 (13, 'Estate of a Collector', '2025-10-15', 'Riverside Gallery', 'day', 26), (14, 'Winter Evening', '2025-12-03', 'Grand Hall', 'evening', 27),
 (15, 'Nordic Light', '2026-04-22', 'Grand Hall', 'evening', 27), (16, 'Sculpture Garden', '2026-06-17', 'Riverside Gallery', 'day', 27),
 (17, 'Autumn Prints Online', '2026-10-14', NULL, 'online', 22), (18, 'Masters of Light', '2026-11-11', 'Grand Hall', 'evening', 27);
CREATE TABLE artists (artistId INTEGER PRIMARY KEY, name VARCHAR, country VARCHAR, birthYear INTEGER, deathYear INTEGER);
INSERT INTO artists VALUES
 (1, 'Hendrik van Loon', 'Netherlands', 1612, 1674), (2, 'Margaret Ashdown', 'United Kingdom', 1891, 1968), (3, 'Étienne Marchand', 'France', 1844, 1911),
 (4, 'Sofie Lindqvist', 'Sweden', 1958, NULL), (5, 'Kaito Mori', 'Japan', 1973, NULL), (6, 'Lucia Ferrante', 'Italy', 1929, 2004),
 (7, 'Jack Penrose', 'United Kingdom', 1931, 2011), (8, 'Olga Petrova', NULL, 1902, 1977), (9, 'Dieter Kranz', 'Germany', 1946, NULL),
 (10, 'Amara Okafor', 'Nigeria', 1985, NULL), (11, 'Claude Renaudin', 'France', 1859, 1926), (12, 'Unknown Flemish Master', NULL, NULL, NULL),
 (13, 'Ruth Halloran', 'Ireland', 1967, NULL), (14, 'Peder Dahl', 'Denmark', 1870, 1938), (15, 'Mateus Rocha', 'Brazil', 1990, NULL),
 (16, 'Elsa Bruun', 'Denmark', 1912, 1999), (17, 'Walter Finch', 'United Kingdom', 1855, 1921);
CREATE TABLE bidders (bidderId INTEGER PRIMARY KEY, fullName VARCHAR, city VARCHAR, country VARCHAR, registeredOn DATE, isDealer BOOLEAN, creditLimit DOUBLE);
INSERT INTO bidders VALUES
 (1, 'Charlotte Meyer', 'London', 'United Kingdom', '2021-11-02', true, 250000), (2, 'Rohan Kapoor', 'London', 'United Kingdom', '2022-01-14', false, 80000),
 (3, 'Galerie Dubois', 'Paris', 'France', '2022-02-20', true, 300000), (4, 'Ingrid Solberg', 'Oslo', 'Norway', '2022-03-01', false, 60000),
 (5, 'Thomas Whitcombe', 'Bath', 'United Kingdom', '2022-03-11', false, NULL), (6, 'Yuki Tanabe', 'Tokyo', 'Japan', '2022-05-30', false, 150000),
 (7, 'Silverberg Fine Art', 'New York', 'United States', '2022-06-01', true, 500000), (8, 'Maria Conti', 'Milan', 'Italy', '2022-09-18', false, 40000),
 (9, 'Oliver Pryce', 'London', 'United Kingdom', '2022-10-05', false, 25000), (10, 'Anna Vestergaard', 'Copenhagen', 'Denmark', '2022-11-25', false, 90000),
 (11, 'Hofmann Kunsthandel', 'Munich', 'Germany', '2023-01-09', true, 200000), (12, 'Beatrice Okoye', 'London', 'United Kingdom', '2023-04-02', false, 35000),
 (13, 'Pierre Lacombe', 'Lyon', 'France', '2023-04-10', false, NULL), (14, 'Daniel Fraser', 'Edinburgh', 'United Kingdom', '2023-09-12', false, 50000),
 (15, 'Estrella Vidal', 'Madrid', 'Spain', '2023-10-30', false, 45000), (16, 'Norrland Konst', 'Stockholm', 'Sweden', '2024-02-02', true, 180000),
 (17, 'George Abernathy', 'Edinburgh', 'United Kingdom', '2024-02-27', false, 20000), (18, 'Helen Zhou', 'Hong Kong', 'China', '2024-06-21', false, 400000),
 (19, 'Samuel Adler', 'New York', 'United States', '2024-09-15', false, 120000), (20, 'Freja Holm', 'Copenhagen', 'Denmark', '2025-01-20', false, 30000),
 (21, 'Priory Antiques', 'Bath', 'United Kingdom', '2025-03-03', true, 75000), (22, 'Victor Lemaire', 'Paris', 'France', '2025-06-10', false, NULL),
 (23, 'Imogen Clarke', NULL, 'United Kingdom', '2025-09-29', false, 15000), (24, 'Lars Nyqvist', 'Stockholm', 'Sweden', '2026-03-17', false, 60000),
 (25, 'Zara Haddad', 'Dubai', 'United Arab Emirates', '2026-05-08', false, 350000), (26, 'Edmund Vane', 'London', 'United Kingdom', '2026-10-02', false, 10000);
CREATE TABLE lots (lotId INTEGER PRIMARY KEY, saleId INTEGER REFERENCES sales(saleId), artistId INTEGER REFERENCES artists(artistId), title VARCHAR, medium VARCHAR,
  yearMade INTEGER, lowEstimate DOUBLE, highEstimate DOUBLE, hammerPrice DOUBLE, buyerId INTEGER REFERENCES bidders(bidderId), withdrawn BOOLEAN);
INSERT INTO lots
WITH a AS (SELECT i, 1 + (hash(i, 'sale') % 18)::INT AS s, least(17, 1 + (hash(i, 'art') % 17)::INT) AS r, (hash(i, 'n') % 6)::INT AS n,
  round(800 * exp((hash(i, 'p') % 400) / 100.0) / 100) * 100 AS low, hash(i, 'w') % 19 = 0 AS w FROM range(1, 126) t(i)),
 b AS (SELECT a.*, a.low * (0.7 + 0.18 * n) AS top FROM a)
SELECT i, s, r,
  ['Harbour at Dusk', 'Portrait of a Lady', 'Still Life with Lemons', 'Untitled', 'The Mill Pond', 'Winter Landscape', 'Study in Blue', 'Fishing Boats', 'Standing Figure', 'The Red Door', 'Self-Portrait', 'Garden in June'][1 + (hash(i, 'ti') % 12)::INT],
  ['oil on canvas', 'oil on canvas', 'oil on canvas', 'watercolour', 'etching', 'lithograph', 'bronze', 'photograph', 'oil on panel', NULL][1 + (hash(i, 'md') % 10)::INT],
  CASE WHEN hash(i, 'y') % 8 > 0 THEN (SELECT birthYear FROM artists x WHERE x.artistId = r) + 22 + (hash(i, 'yy') % 14)::INT END,
  low, round(low * 1.5 / 100) * 100,
  CASE WHEN n > 0 AND NOT w AND top >= low * 0.85 AND s < 18 THEN round(top / 50) * 50 END,
  CASE WHEN n > 0 AND NOT w AND top >= low * 0.85 AND s < 18 THEN 1 + ((hash(i, n, 'b') % 25) * (hash(i, n, 'c') % 25) // 25)::INT END, w
FROM b;
CREATE TABLE bids (bidId INTEGER PRIMARY KEY, lotId INTEGER REFERENCES lots(lotId), bidderId INTEGER REFERENCES bidders(bidderId), amount DOUBLE, placedAt TIMESTAMP, channel VARCHAR);
INSERT INTO bids
SELECT row_number() OVER (ORDER BY s.heldOn, i, k), i, 1 + ((hash(i, k, 'b') % 25) * (hash(i, k, 'c') % 25) // 25)::INT,
  round(l.lowEstimate * (0.7 + 0.18 * k) / 50) * 50,
  s.heldOn::TIMESTAMP + to_minutes(CASE s.kind WHEN 'evening' THEN 1110 WHEN 'day' THEN 630 ELSE 540 END + (hash(i, 'm') % 120)::INT + k) - to_days(CASE WHEN s.kind = 'online' THEN (6 - k) * (hash(i, 'd') % 3)::INT ELSE 0 END),
  CASE WHEN s.kind = 'online' THEN 'online' WHEN hash(i, k, 'ch') % 17 = 0 THEN NULL ELSE ['room', 'room', 'room', 'phone', 'phone', 'online', 'absentee'][1 + (hash(i, k, 'ch2') % 7)::INT] END
FROM lots l JOIN sales s USING (saleId), LATERAL (SELECT l.lotId AS i) z, range(1, 6) t(k)
WHERE k <= (hash(i, 'n') % 6) AND NOT l.withdrawn AND s.saleId < 18 AND l.lotId < 122;

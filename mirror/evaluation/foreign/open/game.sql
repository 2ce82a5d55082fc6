CREATE TABLE players (player_id INTEGER, nick VARCHAR, country VARCHAR, signup_dt DATE, birth_yr INTEGER, lvl INTEGER, clan VARCHAR, vip BOOLEAN, last_login TIMESTAMP);
INSERT INTO players
WITH b AS (SELECT i, (i - 1) % 20 AS pos FROM range(1,81) r(i)),
c AS (SELECT *, CASE WHEN pos >= 17 THEN DATE '2026-03-01' + CAST(hash('s' || i) % 240 AS INTEGER) ELSE DATE '2022-02-10' + CAST(hash('s' || i) % 820 AS INTEGER) END AS sg FROM b)
SELECT i, ['Dark','Iron','Silent','Lucky','Turbo','Frost','Crazy','Neon','Shadow','Pixel'][1 + CAST((i * 3) % 10 AS INTEGER)] || ['Fox','Wolf','Panda','Ninja','Raven','Duck','Viper','Goblin'][1 + CAST((i - 1) // 10 AS INTEGER)],
 ['Poland','Poland','Poland','Germany','Germany','Brazil','Brazil','Brazil','United States','United States','Japan','France','Sweden',NULL][1 + CAST(hash('c' || i) % 14 AS INTEGER)],
 sg, CASE WHEN hash('b' || i) % 9 = 0 THEN NULL ELSE CAST(1975 + (hash('b1' || i) % 20) + (hash('b2' || i) % 19) AS INTEGER) END,
 CASE WHEN pos >= 17 THEN CAST(1 + hash('l' || i) % 8 AS INTEGER) ELSE CAST(6 + hash('l' || i) % 70 AS INTEGER) END,
 ['Red Dragons','Red Dragons','Night Owls','Night Owls','Night Owls','Cheese Club','Iron Legion',NULL,NULL,NULL][1 + CAST(hash('k' || i) % 10 AS INTEGER)],
 hash('v' || i) % 6 = 0,
 CASE WHEN pos >= 17 AND hash('q' || i) % 4 = 0 THEN NULL ELSE GREATEST(sg + 1, DATE '2026-11-17' - CAST((hash('a1' || i) % 30) * (hash('a2' || i) % 18) AS INTEGER)) + INTERVAL (CAST(hash('h' || i) % 1440 AS INTEGER)) MINUTE END
FROM c;
CREATE TABLE matches (match_id INTEGER, mode VARCHAR, map VARCHAR, started_at TIMESTAMP, dur_sec INTEGER, ranked BOOLEAN, server VARCHAR);
INSERT INTO matches
SELECT i, ['Capture the Flag','Capture the Flag','Deathmatch','Deathmatch','Deathmatch','King of the Hill'][1 + CAST(hash('m' || i) % 6 AS INTEGER)],
 ['Dust Canyon','Dust Canyon','Dust Canyon','Frozen Lake','Frozen Lake','Old Castle','Old Castle','Space Dock'][1 + CAST(hash('p' || i) % 8 AS INTEGER)],
 DATE '2024-06-03' + CAST(floor(i * 9.24) + hash('j' || i) % 7 AS INTEGER) + INTERVAL (CAST((13 + hash('h' || i) % 11) * 60 + hash('n' || i) % 60 AS INTEGER)) MINUTE,
 CAST(300 + hash('d' || i) % 1500 AS INTEGER), hash('r' || i) % 5 < 2, ['EU','EU','EU','US','SA'][1 + CAST(hash('sv' || i) % 5 AS INTEGER)]
FROM range(1,97) r(i);
CREATE TABLE match_players (match_id INTEGER, player_id INTEGER, team VARCHAR, kills INTEGER, deaths INTEGER, won BOOLEAN);
INSERT INTO match_players
WITH k AS (SELECT match_id AS m, j, CAST(1 + j * 20 + floor(17 * pow((hash('pl' || m || '-' || j) % 1000) / 1000.0, 1.6)) AS INTEGER) AS p, hash('w' || m) % 2 AS w FROM matches, range(0,4) r(j))
SELECT m, p, CASE WHEN j % 2 = hash('t' || m) % 2 THEN 'red' ELSE 'blue' END, CAST((hash('k' || m || '-' || j) % 16) + (p * 7) % 6 AS INTEGER), CAST(hash('d' || m || '-' || j) % 15 AS INTEGER), (j % 2) = w FROM k;
CREATE TABLE items (item_id VARCHAR, item VARCHAR, type VARCHAR, rarity VARCHAR, price_eur DOUBLE, released DATE);
INSERT INTO items VALUES
('SW01','Flame Sword','weapon','epic',9.99,'2022-02-01'),('SW02','Wooden Sword','weapon','common',0.99,'2022-02-01'),('BW01','Elven Bow','weapon','rare',4.99,'2022-09-15'),
('HM01','Thunder Hammer','weapon','legendary',19.99,'2024-11-29'),('SK01','Pirate Skin','skin','rare',5.99,'2022-10-28'),('SK02','Zombie Skin','skin','epic',8.99,'2023-10-27'),
('SK03','Golden Knight Skin','skin','legendary',24.99,'2025-06-20'),('SK04','Penguin Skin','skin','common',1.99,'2022-12-01'),('PT01','Baby Dragon','pet','legendary',14.99,'2023-04-07'),
('PT02','Robot Cat','pet','rare',6.99,'2024-02-14'),('PT03','Owl','pet','common',2.49,'2022-02-01'),('BX01','Lucky Box','box','common',2.99,'2022-02-01'),('BX02','Mega Lucky Box','box','epic',11.99,'2023-12-15'),('PT04','Ghost Hamster','pet','epic',9.49,'2026-10-31');
CREATE TABLE purchases (purch_id INTEGER, player_id INTEGER, item_id VARCHAR, bought_at TIMESTAMP, paid_eur DOUBLE, platform VARCHAR, refunded BOOLEAN);
INSERT INTO purchases
WITH b AS (SELECT i, CAST(1 + floor(80 * pow((hash('p' || i) % 1000) / 1000.0, 1.9)) AS INTEGER) AS pl,
 ['SW02','SW01','BW01','SK01','SK01','SK02','SK04','PT01','PT02','PT03','BX01','BX01','BX01','BX01','BX02','HM01','SK03'][1 + CAST(hash('it' || i) % 17 AS INTEGER)] AS it FROM range(1,331) r(i)),
c AS (SELECT b.*, price_eur, GREATEST(released, signup_dt) AS lo FROM b JOIN players ON player_id = pl JOIN items ON item_id = it),
d AS (SELECT *, lo + CAST(hash('dd' || i) % (1 + DATE '2026-11-17' - lo) AS INTEGER) AS dt FROM c)
SELECT row_number() OVER (ORDER BY dt, i), pl, it, dt + INTERVAL (CAST((8 + hash('hh' || i) % 15) * 60 + hash('mm' || i) % 60 AS INTEGER)) MINUTE,
 CASE WHEN hash('ds' || i) % 6 = 0 THEN round(price_eur * 0.8, 2) ELSE price_eur END, ['PC','PC','PC','mobile','mobile','console'][1 + CAST(hash('pf' || i) % 6 AS INTEGER)], hash('rf' || i) % 19 = 0
FROM d WHERE pl NOT IN (7, 12, 25);

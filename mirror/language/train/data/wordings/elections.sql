CREATE TABLE elections (election_id INTEGER, election_name VARCHAR, election_type VARCHAR, held_on DATE, budget DOUBLE);
INSERT INTO elections VALUES
 (1, 'County Council 2012', 'council', '2012-05-13', 210000), (2, 'County Council 2016', 'council', '2016-05-15', 238000), (3, 'Assembly 2018', 'assembly', '2018-09-23', 305000),
 (4, 'County Council 2020', 'council', '2020-10-04', 291000), (5, 'Assembly 2022', 'assembly', '2022-09-25', 322000), (6, 'County Council 2024', 'council', '2024-05-12', 274000),
 (7, 'By-election 2025', 'by-election', '2025-10-19', NULL), (8, 'Assembly 2026', 'assembly', '2026-09-27', 348000);
CREATE TABLE districts (district_id INTEGER, district_name VARCHAR, area_type VARCHAR, population INTEGER, polling_stations INTEGER);
INSERT INTO districts VALUES
 (1, 'Castle Hill', 'urban', 28400, 14), (2, 'Docklands', 'urban', 33150, 15), (3, 'Old Town', 'urban', 19800, 9), (4, 'Green Valley', 'rural', 12250, 12), (5, 'Moorside', 'rural', 8900, 11),
 (6, 'Seacliff', 'coastal', 15600, 8), (7, 'Saltmarsh', 'coastal', 10450, 7), (8, 'Westfields', 'suburban', 24700, 11), (9, 'Fox Common', 'suburban', 21300, NULL), (10, 'Newlands', NULL, 3100, 2);
CREATE TABLE parties (party_id INTEGER, party_name VARCHAR, founded INTEGER, leaning VARCHAR, members INTEGER);
INSERT INTO parties VALUES
 (1, 'Civic Union', 1948, 'right', 9400), (2, 'Labour Alliance', 1921, 'left', 12100), (3, 'Green Future', 1987, 'left', 4300), (4, 'Liberal Centre', 1975, 'centre', 3900),
 (5, 'Coast and Country', 2003, 'right', 1750), (6, 'Youth Movement', 2019, NULL, 620), (7, 'Pirate List', 2011, 'centre', NULL);
CREATE TABLE candidates (candidate_id INTEGER, full_name VARCHAR, gender VARCHAR, birth_date DATE, party_id INTEGER, occupation VARCHAR);
INSERT INTO candidates
WITH n AS (SELECT ['Adele', 'Bruno', 'Carla', 'David', 'Elif', 'Frank', 'Greta', 'Hugo', 'Ines', 'Jonas', 'Katrin', 'Leon', 'Mona', 'Nils', 'Orla', 'Pavel'] AS f,
 ['Ackroyd', 'Bellamy', 'Cortez', 'Dunne', 'Engel', 'Farouk', 'Gallo', 'Hartley', 'Ibsen', 'Jung', 'Keller', 'Lowry', 'Moreau', 'Novak', 'Osborne'] AS l)
SELECT i, f[1 + (i * 3 % 16)] || ' ' || l[1 + (i * 4 % 15)], CASE WHEN i = 20 THEN NULL WHEN (i * 3 % 16) % 2 = 0 THEN 'female' ELSE 'male' END,
 CASE WHEN i % 17 = 4 THEN NULL ELSE DATE '1943-04-10' + (hash(i, 'b') % 20300)::INT END,
 CASE WHEN i % 12 = 7 THEN NULL ELSE [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6][1 + (hash(i, 'p') % 12)::INT] END,
 ['teacher', 'lawyer', 'farmer', 'nurse', 'shopkeeper', 'lawyer', 'engineer', 'teacher', 'journalist', NULL, 'student', 'police officer'][1 + (hash(i, 'o') % 12)::INT]
FROM range(1, 55) t(i), n;
CREATE TABLE results (result_id INTEGER, election_id INTEGER, district_id INTEGER, candidate_id INTEGER, nominated_on DATE, votes INTEGER, campaign_spend DOUBLE, elected BOOLEAN);
INSERT INTO results
WITH r AS (SELECT e.election_id AS e, d.district_id AS d, c AS c, e.held_on - (30 + (hash(c, e.election_id, 'n') % 45)::INT) AS nd,
  40 + (d.population * (3 + hash(c, 'pop') % 11 + hash(c, e.election_id, 'v') % 3) // 100)::INT AS v,
  CASE WHEN hash(c, e.election_id, 's') % 12 > 0 THEN 500 * (1 + (hash(c, 'sp') % 9) * (1 + hash(c, e.election_id, 'sq') % 6)) END AS sp
 FROM elections e, districts d, range(1, 52) t(c)
 WHERE (c - 1) % 9 + 1 = d.district_id AND hash(c, e.election_id, 'run') % 10 < 7 AND (e.election_id <> 7 OR d.district_id IN (2, 6)) AND c NOT IN (29))
SELECT row_number() OVER (ORDER BY e, d, v DESC), e, d, c, nd, v, sp, row_number() OVER (PARTITION BY e, d ORDER BY v DESC, c) = 1 FROM r;
CREATE TABLE turnout (count_id INTEGER, election_id INTEGER, district_id INTEGER, registered INTEGER, ballots INTEGER, invalid INTEGER, postal INTEGER, declared_at TIMESTAMP);
INSERT INTO turnout
SELECT row_number() OVER (ORDER BY e.election_id, d.district_id), e.election_id, d.district_id, (d.population * (0.68 + e.election_id * 0.01))::INT AS reg,
 x.b, (x.b * (4 + hash(d.district_id, e.election_id, 'i') % 22) / 1000)::INT, CASE WHEN e.election_id = 1 THEN NULL ELSE (x.b * (6 + e.election_id * 3 + hash(d.district_id, 'po') % 7) / 100)::INT END,
 e.held_on::TIMESTAMP + to_minutes((1215 + d.population // 110 + hash(d.district_id, e.election_id, 't') % 150)::BIGINT)
FROM elections e JOIN (SELECT election_id, district_id, sum(votes) AS s FROM results GROUP BY ALL) q USING (election_id) JOIN districts d USING (district_id),
 LATERAL (SELECT (q.s * 1.02)::INT AS b) x;

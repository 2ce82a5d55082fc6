CREATE TABLE listings ("Ref No" VARCHAR, "Address" VARCHAR, "City" VARCHAR, "Type" VARCHAR, "Bedrooms" INTEGER, "Living Area" VARCHAR, "Built" INTEGER, "Energy Class" VARCHAR, "Garden" VARCHAR, "Garage" VARCHAR,
 "Asking Price" VARCHAR, "Listed On" VARCHAR, "Agent" VARCHAR, "Viewings" INTEGER, "Status" VARCHAR, "Sold On" VARCHAR, "Sale Price" VARCHAR, "Commission" VARCHAR);
INSERT INTO listings
WITH b AS (SELECT i, DATE '2022-01-17' + CAST(floor(i * 10.3) + hash('ld' || i) % 9 AS INTEGER) AS ls,
  ['Riverside','Riverside','Riverside','Riverside','Oakfield','Oakfield','Oakfield','Port Amber','Port Amber','Port Amber','Hillcrest','Millbrook'][1 + CAST(hash('c' || i) % 12 AS INTEGER)] AS city,
  ['apartment','apartment','apartment','apartment','detached house','detached house','terraced house','terraced house','terraced house','studio','villa'][1 + CAST(hash('t' || i) % 11 AS INTEGER)] AS ty FROM range(1,171) r(i)),
c AS (SELECT *, CASE ty WHEN 'studio' THEN 1 WHEN 'apartment' THEN 1 + hash('b' || i) % 3 WHEN 'terraced house' THEN 2 + hash('b' || i) % 3 WHEN 'detached house' THEN 3 + hash('b' || i) % 3 ELSE 4 + hash('b' || i) % 4 END AS beds FROM b),
d AS (SELECT *, CAST(22 + beds * 21 + hash('ar' || i) % 28 + CASE WHEN ty = 'villa' THEN 60 ELSE 0 END AS INTEGER) AS area FROM c),
e AS (SELECT *, CAST(round(area * (CASE city WHEN 'Port Amber' THEN 5200 WHEN 'Hillcrest' THEN 4600 WHEN 'Riverside' THEN 3900 WHEN 'Oakfield' THEN 3300 ELSE 2700 END + hash('pp' || i) % 900 + (year(ls) - 2022) * 130) / 5000.0) * 5000 AS BIGINT) AS ask,
  CAST(14 + (hash('d1' || i) % 70) + (hash('d2' || i) % 9) * (hash('d3' || i) % 20) + CASE WHEN i > 135 AND hash('lg' || i) % 2 = 0 THEN 190 ELSE 0 END AS INTEGER) AS days, hash('wd' || i) % 11 = 0 AS wd FROM d),
f AS (SELECT *, CASE WHEN wd THEN 'Withdrawn' WHEN ls + days <= DATE '2026-11-14' THEN 'Sold' WHEN hash('uo' || i) % 4 = 0 THEN 'Under offer' ELSE 'For sale' END AS st,
  CASE WHEN i > 158 AND hash('ln' || i) % 2 = 0 THEN 'Li Na' ELSE ['Paula Reyes','Paula Reyes','Paula Reyes','Tom Becker','Tom Becker','Shanice Cole','Shanice Cole','Yusuf Demir','Yusuf Demir','Ellen Frost','Greg Novak'][1 + CAST(hash('ag' || i) % 11 AS INTEGER)] END AS ag,
  CAST(ask * (0.92 + (hash('sp' || i) % 120) / 1000.0) / 50 AS BIGINT) * 50 AS sp FROM e)
SELECT 'R-' || CAST(4000 + i AS VARCHAR), CAST(1 + hash('no' || i) % 148 AS VARCHAR) || ' ' || ['Mill Lane','Station Road','Harbour Street','Park Avenue','Church Road','Elm Street','Castle Way','Orchard Close','Queens Drive','North Parade'][1 + CAST(hash('sr' || i) % 10 AS INTEGER)],
 city, ty, CAST(beds AS INTEGER), CAST(area AS VARCHAR) || ' m2', CASE WHEN hash('yn' || i) % 10 = 0 THEN NULL ELSE CAST(1895 + hash('y1' || i) % 66 + hash('y2' || i) % 64 AS INTEGER) END,
 CASE WHEN hash('en' || i) % 12 = 0 THEN NULL ELSE ['A','B','B','C','C','C','D','D','E','F'][1 + CAST(hash('ec' || i) % 10 AS INTEGER)] END,
 CASE WHEN ty IN ('studio','apartment') THEN (CASE WHEN hash('gd' || i) % 8 = 0 THEN 'yes' ELSE 'no' END) ELSE (CASE WHEN hash('gd' || i) % 6 = 0 THEN 'no' ELSE 'yes' END) END,
 CASE WHEN hash('ga' || i) % 3 = 0 THEN 'yes' ELSE 'no' END,
 '$' || format('{:,}', ask), strftime(ls, '%d.%m.%Y'), ag, CASE WHEN hash('vn' || i) % 20 = 0 THEN NULL ELSE CAST(LEAST(days, 140) // 7 + hash('vw' || i) % 16 AS INTEGER) END,
 st, CASE WHEN st = 'Sold' THEN strftime(ls + days, '%d.%m.%Y') END, CASE WHEN st = 'Sold' THEN '$' || format('{:,}', sp) || '.00' END,
 CASE WHEN st = 'Sold' THEN ['2.5%','2.5%','3%','3%','3.5%','1.75%'][1 + CAST(hash('cm' || i) % 6 AS INTEGER)] END
FROM f;

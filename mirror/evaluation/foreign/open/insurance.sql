CREATE TABLE agents (agent_no INTEGER PRIMARY KEY, agent_name VARCHAR, branch VARCHAR, hired DATE, comm_pct DOUBLE);
INSERT INTO agents VALUES
 (11, 'Margaret Hollis', 'Leeds', DATE '2009-03-02', 6.0),
 (12, 'Dev Patel', 'Leeds', DATE '2016-09-12', 5.0),
 (13, 'Sian Pritchard', 'York', DATE '2012-01-16', 6.0),
 (14, 'Colin Ashworth', 'York', DATE '2019-05-07', 4.5),
 (15, 'Ngozi Okafor', 'Hull', DATE '2014-11-03', 5.5),
 (16, 'Terry Blackburn', 'Sheffield', DATE '2011-06-20', 5.5),
 (17, 'Lucy Fenwick', 'Sheffield', DATE '2021-02-15', 4.0),
 (18, 'Jonah Reeve', 'Hull', DATE '2026-10-05', 3.5);
CREATE TABLE prod_codes (code VARCHAR PRIMARY KEY, descr VARCHAR);
INSERT INTO prod_codes VALUES ('MOT', 'Motor'), ('HOM', 'Home'), ('LIF', 'Life'), ('TRV', 'Travel'), ('PET', 'Pet'), ('LEG', 'Legal cover');
CREATE TABLE customers (cust_id INTEGER PRIMARY KEY, first_name VARCHAR, last_name VARCHAR, dob DATE, town VARCHAR, smoker INTEGER, email VARCHAR);
INSERT INTO customers
SELECT 1000 + i, fn, ln, DATE '1938-01-01' + CAST(hash(i, 'dob') % 24800 AS INTEGER),
 CASE WHEN CAST(hash(i, 'tn') % 100 AS INTEGER) < 30 THEN 'Leeds' WHEN CAST(hash(i, 'tn') % 100 AS INTEGER) < 50 THEN 'Sheffield' WHEN CAST(hash(i, 'tn') % 100 AS INTEGER) < 66 THEN 'Hull' WHEN CAST(hash(i, 'tn') % 100 AS INTEGER) < 79 THEN 'York' WHEN CAST(hash(i, 'tn') % 100 AS INTEGER) < 88 THEN 'Harrogate' WHEN CAST(hash(i, 'tn') % 100 AS INTEGER) < 95 THEN 'Doncaster' ELSE 'Whitby' END,
 CASE WHEN CAST(hash(i, 'smk') % 100 AS INTEGER) < 22 THEN 1 ELSE 0 END,
 CASE WHEN CAST(hash(i, 'em') % 100 AS INTEGER) < 12 THEN NULL ELSE lower(fn) || '.' || lower(ln) || '@' || (['gmail.com', 'outlook.com', 'btinternet.com'])[1 + CAST(hash(i, 'dom') % 3 AS INTEGER)] END
FROM (SELECT i, (['Olivia','Jack','Amelia','Harry','Isla','George','Ava','Noah','Emily','Oscar','Grace','Leo','Freya','Arthur','Poppy','Alfie','Ella','Henry','Lily','Thomas','Priya','Mohammed','Wei','Agnieszka','Patrick','Doris','Kenneth','Sheila','Nigel','Beryl'])[1 + i % 30] AS fn,
 (['Barnes','Cooper','Dawson','Ellis','Fletcher','Gill','Hargreaves','Ibbotson','Jackson','Kaye','Lister','Metcalfe','Naylor','Oldroyd','Pickles','Quarmby','Rhodes','Sutcliffe','Thackray','Usher','Varley','Wainwright','Yeadon','Akhtar','Singh'])[1 + (i * 7 + i // 30) % 25] AS ln FROM range(1, 91) t(i));
CREATE TABLE policies (pol_no VARCHAR PRIMARY KEY, cust_id INTEGER REFERENCES customers(cust_id), agent_no INTEGER REFERENCES agents(agent_no), code VARCHAR REFERENCES prod_codes(code), start_dt DATE, end_dt DATE, annual_prem DOUBLE, sum_insured DOUBLE, status VARCHAR);
INSERT INTO policies
SELECT code || '-' || (40000 + i * 17), cust, agent, code, st,
 CASE WHEN status = 'active' THEN NULL ELSE st + CAST(least(180 + CAST(hash(i, 'len') % 1500 AS INTEGER), DATE '2026-11-10' - st) AS INTEGER) END,
 round(CASE code WHEN 'MOT' THEN 310 WHEN 'HOM' THEN 180 WHEN 'LIF' THEN 420 WHEN 'TRV' THEN 60 ELSE 145 END * (0.7 + (CAST(hash(i, 'pr') % 1100 AS INTEGER)) / 1000.0) * CASE WHEN smoker = 1 AND code = 'LIF' THEN 1.9 ELSE 1 END * CASE WHEN smoker = 1 THEN 1.15 ELSE 1 END, 2),
 CASE code WHEN 'MOT' THEN 4000 + 500 * (CAST(hash(i, 'si') % 60 AS INTEGER)) WHEN 'HOM' THEN 120000 + 10000 * (CAST(hash(i, 'si') % 45 AS INTEGER)) WHEN 'LIF' THEN 50000 + 25000 * (CAST(hash(i, 'si') % 15 AS INTEGER)) WHEN 'TRV' THEN 5000 + 5000 * (CAST(hash(i, 'si') % 3 AS INTEGER)) ELSE 2000 + 1000 * (CAST(hash(i, 'si') % 5 AS INTEGER)) END,
 status
FROM (SELECT p.*, c.smoker FROM (SELECT i, 1001 + CAST(floor(pow((CAST(hash(i, 'cu') % 1000 AS INTEGER)) / 1000.0, 1.5) * 80) AS INTEGER) AS cust,
  CASE WHEN CAST(hash(i, 'ag') % 100 AS INTEGER) < 24 THEN 11 WHEN CAST(hash(i, 'ag') % 100 AS INTEGER) < 37 THEN 12 WHEN CAST(hash(i, 'ag') % 100 AS INTEGER) < 55 THEN 13 WHEN CAST(hash(i, 'ag') % 100 AS INTEGER) < 65 THEN 14 WHEN CAST(hash(i, 'ag') % 100 AS INTEGER) < 79 THEN 15 WHEN CAST(hash(i, 'ag') % 100 AS INTEGER) < 94 THEN 16 ELSE 17 END AS agent,
  CASE WHEN CAST(hash(i, 'co') % 100 AS INTEGER) < 38 THEN 'MOT' WHEN CAST(hash(i, 'co') % 100 AS INTEGER) < 62 THEN 'HOM' WHEN CAST(hash(i, 'co') % 100 AS INTEGER) < 80 THEN 'LIF' WHEN CAST(hash(i, 'co') % 100 AS INTEGER) < 92 THEN 'TRV' ELSE 'PET' END AS code,
  CASE WHEN CAST(hash(i, 'ag') % 100 AS INTEGER) >= 94 THEN DATE '2021-03-01' + CAST(hash(i, 'st') % 1900 AS INTEGER) ELSE DATE '2019-06-01' + CAST(hash(i, 'st') % 2690 AS INTEGER) END AS st,
  CASE WHEN CAST(hash(i, 'ss') % 100 AS INTEGER) < 66 OR CAST(hash(i, 'st') % 2690 AS INTEGER) > 2400 THEN 'active' WHEN CAST(hash(i, 'ss') % 100 AS INTEGER) < 86 THEN 'lapsed' ELSE 'cancelled' END AS status
 FROM range(1, 191) t(i)) p JOIN customers c ON c.cust_id = p.cust) x;
CREATE TABLE claims (claim_id INTEGER PRIMARY KEY, pol_no VARCHAR REFERENCES policies(pol_no), filed_on DATE, settled_on DATE, cause VARCHAR, claimed_amt DOUBLE, paid_amt DOUBLE, outcome VARCHAR);
INSERT INTO claims
WITH p AS (SELECT *, row_number() OVER (ORDER BY pol_no) AS n FROM policies WHERE code <> 'LIF' OR CAST(hash(pol_no, 'lf') % 5 AS INTEGER) = 0),
 c AS (SELECT i, p.*, filed FROM (SELECT i, 1 + CAST(floor(pow((CAST(hash(i, 'pn') % 1000 AS INTEGER)) / 1000.0, 1.4) * (SELECT count(*) FROM p)) AS INTEGER) AS n FROM range(1, 151) t(i)) r JOIN p USING (n),
  LATERAL (SELECT start_dt + CAST(5 + CAST(hash(i, 'fd') % 1000000 AS INTEGER) % greatest(1, coalesce(end_dt, DATE '2026-11-17') - start_dt - 5) AS INTEGER) AS filed) f),
 o AS (SELECT *, row_number() OVER (ORDER BY filed, i) AS k, CASE WHEN filed > DATE '2026-09-20' OR CAST(hash(i, 'op') % 40 AS INTEGER) = 0 THEN 'open' WHEN CAST(hash(i, 'oc') % 100 AS INTEGER) < 19 THEN 'rejected' ELSE 'paid' END AS oc,
  round(CASE code WHEN 'MOT' THEN 1900 WHEN 'HOM' THEN 3200 WHEN 'LIF' THEN 60000 WHEN 'TRV' THEN 480 ELSE 390 END * (0.15 + pow((CAST(hash(i, 'am') % 1000 AS INTEGER)) / 1000.0, 3) * 3), 2) AS amt FROM c)
SELECT 7000 + k, pol_no, filed, CASE WHEN oc = 'open' THEN NULL ELSE filed + CAST(4 + CAST(hash(i, 'sd') % 50 AS INTEGER) AS INTEGER) END,
 CASE code WHEN 'MOT' THEN (['collision', 'collision', 'collision', 'theft', 'windscreen', 'vandalism'])[1 + CAST(hash(i, 'ca') % 6 AS INTEGER)] WHEN 'HOM' THEN (['water leak', 'water leak', 'storm', 'storm', 'theft', 'fire', 'vandalism'])[1 + CAST(hash(i, 'ca') % 7 AS INTEGER)] WHEN 'LIF' THEN 'death' WHEN 'TRV' THEN (['lost luggage', 'cancellation', 'cancellation', 'illness'])[1 + CAST(hash(i, 'ca') % 4 AS INTEGER)] ELSE (['illness', 'illness', 'injury'])[1 + CAST(hash(i, 'ca') % 3 AS INTEGER)] END,
 amt, CASE oc WHEN 'open' THEN NULL WHEN 'rejected' THEN 0 ELSE round(amt * (0.6 + (CAST(hash(i, 'pa') % 41 AS INTEGER)) / 100.0), 2) END, oc
FROM o ORDER BY k;

CREATE TABLE projects (projectId INTEGER, name VARCHAR, client VARCHAR, startedOn DATE, deadline DATE, budget DOUBLE, archived BOOLEAN);
INSERT INTO projects VALUES
(1,'Checkout Rewrite','Mango Market','2023-02-01','2024-03-31',180000,true),(2,'Mobile App','Mango Market','2023-09-11','2026-12-18',240000,false),(3,'Patient Portal','Clinica Vega','2024-01-22','2026-09-30',310000,false),(4,'Data Warehouse','Norrland Energi','2024-05-06','2027-01-29',275000,false),
(5,'Internal Wiki',NULL,'2022-11-14',NULL,15000,false),(6,'Ticket Kiosk','Metro Porto','2025-03-03','2025-11-28',96000,true),(7,'Billing API','Norrland Energi','2025-08-18','2026-10-31',120000,false),(8,'Voice Assistant','Clinica Vega','2026-11-09','2027-09-30',200000,false);

CREATE TABLE developers (devId INTEGER, fullName VARCHAR, team VARCHAR, role VARCHAR, city VARCHAR, joinedOn DATE, leftOn DATE);
INSERT INTO developers VALUES
(1,'Marta Soares','Backend','Tech lead','Lisbon','2020-03-02',NULL),(2,'Ravi Subramanian','Backend','Developer','Berlin','2021-06-14',NULL),(3,'Anneli Koski','Frontend','Tech lead','Helsinki','2019-10-07',NULL),(4,'Bogdan Ionescu','Frontend','Developer','Lisbon','2022-01-17',NULL),
(5,'Keisha Grant','QA','Tester','London','2021-11-01',NULL),(6,'Matteo Conti','QA','Tester','Lisbon','2023-04-11','2025-08-29'),(7,'Sunniva Berg','Data','Developer','Stockholm','2024-02-05',NULL),(8,'Farid Haddad','Backend','Developer','Berlin','2022-09-19','2024-12-20'),
(9,'Yuna Park','Frontend','Designer','Berlin','2023-08-28',NULL),(10,'Caio Mendes','Data','Tech lead','Lisbon','2023-12-01',NULL),(11,'Zoltan Kiss','Backend','Developer',NULL,'2025-01-13',NULL),(12,'Aoife Nolan','QA','Tester','London','2025-09-15',NULL),(13,'Pieter Claes','Ops','Developer','Berlin','2024-06-03',NULL),(14,'Irina Orlova','Ops','Developer','London','2026-11-02',NULL),(15,'Gloria Mbeki','Management','Product owner','Lisbon','2020-08-24',NULL);

CREATE TABLE priorities (code INTEGER, label VARCHAR);
INSERT INTO priorities VALUES (1,'critical'),(2,'high'),(3,'normal'),(4,'low'),(5,'someday');

CREATE TABLE issues (issueId INTEGER, projectId INTEGER, title VARCHAR, type VARCHAR, prio INTEGER, status VARCHAR, reporterId INTEGER, assigneeId INTEGER, createdAt TIMESTAMP, closedAt TIMESTAMP, estimateHrs DOUBLE, spentHrs DOUBLE);
INSERT INTO issues
WITH a AS (
  SELECT i, DATE '2023-02-06' + floor(1372 * pow(i / 310.0, 0.9) + 14 * sin(i / 4.0))::INTEGER AS d0 FROM range(1, 310) t(i)),
b AS (
  SELECT i, (SELECT arg_min(projectId, (hash(i, projectId, 'prj') % 1000 + 1) * (CASE projectId WHEN 2 THEN 0.45 WHEN 3 THEN 0.6 WHEN 5 THEN 2.2 ELSE 1.0 END)) FROM projects WHERE startedOn <= d0 AND projectId <> 8 AND (NOT archived OR d0 <= deadline)) AS prj,
    d0 - CASE WHEN isodow(d0) >= 6 AND hash(i, 'wk') % 4 > 0 THEN (isodow(d0) - 5 + hash(i, 'wd') % 5)::INTEGER ELSE 0 END AS d,
    (['bug','bug','bug','bug','feature','feature','feature','task','task','security'])[1 + (hash(i, 'ty') % 10)::INTEGER] AS ty, ([1,2,2,3,3,3,3,3,4,4])[1 + (hash(i, 'pr') % 10)::INTEGER] AS pr FROM a),
c AS (
  SELECT *, (SELECT arg_min(devId, (hash(i, devId, 'as') % 1000 + 1) * (CASE WHEN devId IN (1, 3) THEN 0.5 WHEN devId = 2 THEN 0.65 ELSE 1.0 END)) FROM developers WHERE joinedOn <= d AND (leftOn IS NULL OR leftOn > d + 45) AND devId NOT IN (14, 15)) AS who,
    (SELECT arg_min(devId, (hash(i, devId, 're') % 1000 + 1) * (CASE WHEN team = 'QA' THEN 0.35 WHEN devId = 15 THEN 0.3 ELSE 1.0 END)) FROM developers WHERE joinedOn <= d AND (leftOn IS NULL OR leftOn > d) AND devId <> 14) AS rep,
    d::TIMESTAMP + to_minutes(480 + (hash(i, 'min') % 600)::INTEGER) AS cr, (([1,2,3,5,8,12,20,40,75])[1 + (hash(i, 'dur') % 9)::INTEGER] * (0.5 + pr / 4.0) * 1440)::INTEGER + (hash(i, 'dm') % 300)::INTEGER AS durmin FROM b),
e AS (SELECT *, cr + to_minutes(durmin) AS cl, (hash(i, 'never') % 100 < 11) AS nev FROM c),
f AS (SELECT *, CASE WHEN nev OR cl > TIMESTAMP '2026-11-17 18:00' THEN NULL ELSE cl END AS closed, CASE WHEN hash(i, 'noest') % 5 = 0 THEN NULL ELSE ([1,2,2,4,4,6,8,12,16,24])[1 + (hash(i, 'est') % 10)::INTEGER] END AS est FROM e)
SELECT 1000 + i, prj,
  (CASE ty WHEN 'bug' THEN (['Crash in ','Wrong total in ','Typo in ','Slow loading of ','Broken link in ','Timeout in '])[1 + (hash(i, 't1') % 6)::INTEGER] WHEN 'feature' THEN (['Add dark mode to ','Export button for ','Filters for ','Offline mode for ','Search in '])[1 + (hash(i, 't1') % 5)::INTEGER] WHEN 'security' THEN (['Weak password check in ','Leaked token in ','Missing permission on '])[1 + (hash(i, 't1') % 3)::INTEGER] ELSE (['Clean up ','Write docs for ','Upgrade library of ','Rename fields of '])[1 + (hash(i, 't1') % 4)::INTEGER] END)
   || (['login page','invoice list','user profile','settings screen','payment form','appointment calendar','monthly report','import job','notification mails','map view','home screen','admin area','image upload'])[1 + (hash(i, 't2') % 13)::INTEGER],
  ty, pr, CASE WHEN closed IS NOT NULL THEN (CASE WHEN hash(i, 'wf') % 9 = 0 THEN 'wont fix' ELSE 'done' END) WHEN hash(i, 'noone') % 5 = 0 THEN 'open' ELSE (['open','in progress','in review'])[1 + (hash(i, 'stt') % 3)::INTEGER] END,
  rep, CASE WHEN closed IS NULL AND hash(i, 'noone') % 5 = 0 THEN NULL ELSE who END, cr, closed, est, CASE WHEN closed IS NULL THEN NULL ELSE round(coalesce(est, 5) * ([0.5,0.75,1,1,1.25,1.5,2,2.5,4])[1 + (hash(i, 'sp') % 9)::INTEGER], 1) END
FROM f;

CREATE TABLE comments (commentId INTEGER, issueId INTEGER, authorId INTEGER, body VARCHAR, postedAt TIMESTAMP);
INSERT INTO comments
SELECT row_number() OVER (ORDER BY ts, h), issueId, CASE WHEN hash(h, 'self') % 3 = 0 THEN reporterId ELSE coalesce(assigneeId, reporterId) END, (['Can reproduce this','Works on my machine','Fixed in branch, please review','Needs more info from the client','Duplicate of an older one?','Looks good to me','Moved to next week','Deployed to staging'])[1 + (hash(h, 'body') % 8)::INTEGER], ts
FROM (SELECT *, issueId * 10 + k AS h, createdAt + to_minutes((hash(issueId * 10 + k, 'when') % greatest(60, least(20000, date_diff('minute', createdAt, coalesce(closedAt, TIMESTAMP '2026-11-17 17:00')))))::INTEGER) AS ts
      FROM issues, range(9) t(k) WHERE k < ([0,0,0,0,1,1,1,2,2,3])[1 + (hash(issueId, 'nc') % 10)::INTEGER] + (hash(issueId, 'hot') % 40 = 0)::INTEGER * 4);

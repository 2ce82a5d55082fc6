CREATE TABLE teams (team_cd VARCHAR PRIMARY KEY, team_nm VARCHAR, flr INTEGER, sla_sec INTEGER);
INSERT INTO teams VALUES ('BIL','Billing',2,90),('TEC','Tech Support',3,120),('SAL','Sales',2,45),('RET','Retention',1,60),('VIP','Premium Desk',3,20);
CREATE TABLE agents (agt_id INTEGER PRIMARY KEY, agt_nm VARCHAR, team_cd VARCHAR REFERENCES teams, hire_dt DATE, left_dt DATE, hrly_rate DOUBLE, site VARCHAR, shift VARCHAR, lang_2 VARCHAR);
INSERT INTO agents VALUES
(11,'Nadia Brooks','BIL','2019-04-01',NULL,17.5,'Leeds','early','French'),(12,'Colm Reilly','BIL','2021-09-13',NULL,15.2,'Leeds','late',NULL),
(13,'Tasha Mbeki','BIL','2023-02-06','2025-05-30',14.0,'Cardiff','early',NULL),(14,'Owen Pryce','BIL','2025-06-16',NULL,14.0,'Cardiff','late','Welsh'),
(15,'Sunita Rao','TEC','2018-11-05',NULL,21.0,'Leeds','early','Hindi'),(16,'Gareth Lowe','TEC','2020-01-20',NULL,19.4,'Cardiff','night','Welsh'),
(17,'Yuki Tanaka','TEC','2022-03-07',NULL,18.6,'Leeds','late','Japanese'),(18,'Brad Nolan','TEC','2024-08-19','2026-02-27',16.9,'Leeds','night',NULL),
(19,'Ewa Zielinska','TEC','2024-10-01',NULL,17.2,'Remote','early','Polish'),(20,'Marcus Hale','SAL','2020-06-29',NULL,16.0,'Leeds','early',NULL),
(21,'Priya Nair','SAL','2022-05-16',NULL,15.8,'Remote','late','Hindi'),(22,'Dale Whitmore','SAL','2023-07-03','2024-11-15',14.6,'Leeds','late',NULL),
(23,'Chloe Adeyemi','RET','2021-01-11',NULL,16.7,'Cardiff','early','French'),(24,'Ruben Ortiz','RET','2023-10-09',NULL,15.5,'Remote','late','Spanish'),
(25,'Fiona Drake','VIP','2017-08-14',NULL,23.5,'Leeds','early','German'),(26,'Anton Vogel','VIP','2022-12-05',NULL,22.0,'Leeds','late','German'),
(27,'Molly Finch','RET','2026-09-01',NULL,14.3,'Cardiff','early',NULL),(28,'Idris Khan',NULL,'2026-11-09',NULL,13.5,'Cardiff','early',NULL);
CREATE TABLE custs (cust_id INTEGER PRIMARY KEY, cust_nm VARCHAR, seg VARCHAR, region VARCHAR, since_dt DATE, mthly_fee DOUBLE);
INSERT INTO custs
SELECT 3000 + i, ['Ashby','Bluestone','Carver','Dunmore','Elm Tree','Foxglove','Granite','Hartley','Ivory','Juniper','Kestrel'][1 + (i % 11)::INTEGER] || ' ' || ['Dental','Logistics','Foods','Law','Media'][1 + (i % 5)::INTEGER],
 CASE WHEN hash(i,'s') % 10 < 6 THEN 'small' WHEN hash(i,'s') % 10 < 9 THEN 'mid' ELSE 'corporate' END, ['North','North','Midlands','South','Wales','Scotland',NULL][1 + (hash(i,'r') % 7)::INTEGER],
 DATE '2016-01-10' + (hash(i,'d') % 2900)::INTEGER, CASE WHEN hash(i,'s') % 10 < 6 THEN 29 + (hash(i,'f') % 5) * 10 WHEN hash(i,'s') % 10 < 9 THEN 149 + (hash(i,'f') % 4) * 25 ELSE 690 + (hash(i,'f') % 3) * 130 END
FROM range(52) r(i);
CREATE TABLE calls (call_id INTEGER PRIMARY KEY, agt_id INTEGER REFERENCES agents, cust_id INTEGER REFERENCES custs, call_ts TIMESTAMP, dir VARCHAR, rsn VARCHAR, wait_sec INTEGER, talk_sec INTEGER, csat INTEGER, xfer INTEGER, aband INTEGER);
INSERT INTO calls
SELECT 10000 + i, a.agt_id, 3000 + least(hash(i,'c1') % 49, hash(i,'c2') % 47), ts,
 CASE WHEN a.team_cd IN ('SAL','RET') AND hash(i,'di') % 2 = 0 AND ab = 0 THEN 'out' ELSE 'in' END,
 CASE a.team_cd WHEN 'BIL' THEN ['invoice','invoice','refund','payment failed'][1 + (hash(i,'rs') % 4)::INTEGER] WHEN 'TEC' THEN ['outage','setup','password reset','slow line','outage'][1 + (hash(i,'rs') % 5)::INTEGER]
  WHEN 'SAL' THEN ['upgrade','new contract'][1 + (hash(i,'rs') % 2)::INTEGER] WHEN 'RET' THEN ['cancellation','cancellation','complaint'][1 + (hash(i,'rs') % 3)::INTEGER] ELSE ['complaint','invoice','outage',NULL][1 + (hash(i,'rs') % 4)::INTEGER] END,
 (CASE WHEN ab = 1 THEN 140 + hash(i,'w') % 600 ELSE least(hash(i,'w') % 240, hash(i,'w2') % 400) END)::INTEGER, CASE WHEN ab = 1 THEN NULL ELSE 35 + least(hash(i,'t1') % 1500, hash(i,'t2') % 1900)::INTEGER END,
 CASE WHEN ab = 1 OR hash(i,'cs') % 5 < 2 THEN NULL ELSE 1 + greatest(hash(i,'q1') % 5, hash(i,'q2') % 5)::INTEGER END, CASE WHEN ab = 0 AND hash(i,'x') % 8 = 0 THEN 1 ELSE 0 END, ab
FROM (SELECT i, (hash(i,'ab') % 11 = 0)::INTEGER AS ab, TIMESTAMP '2024-01-03 08:00:00' + ((i * 1049) // 300)::INTEGER * INTERVAL 1 DAY + ((hash(i,'h') % 11) + CASE WHEN hash(i,'h3') % 9 = 0 THEN 4 ELSE 0 END)::INTEGER * INTERVAL 1 HOUR + (hash(i,'m') % 60)::INTEGER * INTERVAL 1 MINUTE + (hash(i,'s') % 60)::INTEGER * INTERVAL 1 SECOND AS ts FROM range(300) r(i)) k
JOIN LATERAL (SELECT agt_id, team_cd FROM agents WHERE hire_dt <= k.ts::DATE AND (left_dt IS NULL OR left_dt >= k.ts::DATE) AND agt_id < 27 ORDER BY hash(agt_id + k.i * 31, 'ag') LIMIT 1) a ON true;
CREATE TABLE tkts (tkt_id INTEGER PRIMARY KEY, call_id INTEGER REFERENCES calls, owner_id INTEGER REFERENCES agents, open_dt DATE, close_dt DATE, prio VARCHAR, cat VARCHAR, reopened INTEGER, credit_amt DOUBLE);
INSERT INTO tkts
SELECT 700 + row_number() OVER (ORDER BY c.call_id), c.call_id, CASE WHEN hash(c.call_id,'o') % 6 = 0 THEN 15 ELSE c.agt_id END, c.call_ts::DATE,
 CASE WHEN c.call_ts::DATE + n > DATE '2026-11-17' OR hash(c.call_id,'cl') % 13 = 0 THEN NULL ELSE c.call_ts::DATE + n END, ['low','normal','normal','normal','high','urgent'][1 + (hash(c.call_id,'p') % 6)::INTEGER],
 CASE WHEN c.rsn IN ('invoice','refund','payment failed') THEN 'money' WHEN c.rsn IN ('outage','slow line') THEN 'network' WHEN c.rsn IN ('setup','password reset') THEN 'account' ELSE 'other' END,
 (hash(c.call_id,'re') % 9 = 0)::INTEGER, CASE WHEN hash(c.call_id,'cr') % 4 = 0 THEN 5 + (hash(c.call_id,'ca') % 18)::INTEGER * 2.5 END
FROM (SELECT *, least(hash(call_id,'n1') % 40, hash(call_id,'n2') % 55)::INTEGER AS n FROM calls) c WHERE c.aband = 0 AND c.dir = 'in' AND hash(c.call_id,'tk') % 5 < 3;

CREATE TEMP MACRO h(i, s, n) AS CAST(hash(i, s) % n AS INTEGER);
CREATE TABLE till (till_id INTEGER PRIMARY KEY, till_name VARCHAR, till_type VARCHAR, installed DATE, max_float DECIMAL(8,2), out_of_order BOOLEAN);
INSERT INTO till VALUES (1,'Main 1','manned','2017-03-14',300,false),(2,'Main 2','manned','2017-03-14',300,false),(3,'Main 3','manned','2019-06-02',300,true),
 (4,'Express','basket only','2021-09-20',150,false),(5,'Self 1','self-service','2022-02-11',NULL,false),(6,'Self 2','self-service','2022-02-11',NULL,false),(7,'Self 3','self-service','2024-05-30',NULL,true),(8,'Kiosk','tobacco',NULL,400,false);
CREATE TABLE cashier (cashier_id INTEGER PRIMARY KEY, cashier_name VARCHAR, hired DATE, contract VARCHAR, hourly_pay DECIMAL(5,2));
INSERT INTO cashier VALUES (1,'Denise Okafor','2014-05-01','full-time',14.20),(2,'Ryan Pell','2022-08-15','part-time',12.10),(3,'Marta Kowal','2019-11-04','full-time',13.40),(4,'Imran Shah','2024-01-22','student',11.60),
 (5,'Lucy Hart','2025-06-30','student',11.60),(6,'Geoff Tandy','2009-02-16','part-time',14.80),(7,'Priya Nair','2023-03-27','full-time',12.60),(8,'Owen Blake','2026-09-01','student',11.60),(9,'Carol Finch','2016-10-10','part-time',13.10);
CREATE TABLE offer (offer_id INTEGER PRIMARY KEY, offer_title VARCHAR, mechanic VARCHAR, starts DATE, ends DATE, members_only BOOLEAN, supplier_funded_pct INTEGER);
INSERT INTO offer VALUES (1,'Pizza two for 6','multibuy','2025-01-08','2025-02-04',false,60),(2,'Half price salmon','half price','2025-04-09','2025-04-22',true,50),(3,'Wine three for two','multibuy','2025-11-26','2025-12-31',false,30),
 (4,'Cheddar 1 off','money off','2026-02-04','2026-03-03',true,100),(5,'Nappies 20 percent','percentage','2026-05-06','2026-06-02',false,NULL),(6,'Meal deal','meal deal','2024-09-01',NULL,false,0),
 (7,'Coffee half price','half price','2026-08-05','2026-08-25',true,75),(8,'Pumpkin clearance','markdown','2026-11-01','2026-11-08',false,0),(9,'Turkey early bird','money off','2026-11-11','2026-12-20',true,40),(10,'Vegan week','percentage','2026-01-05','2026-01-18',false,NULL);
CREATE TABLE receipt (receipt_id INTEGER PRIMARY KEY, receipt_no VARCHAR, till_id INTEGER REFERENCES till(till_id), cashier_id INTEGER REFERENCES cashier(cashier_id), rung_at TIMESTAMP, seconds_at_till INTEGER, paid_by VARCHAR, loyalty_no VARCHAR, voided BOOLEAN, coupon_value DECIMAL(6,2));
INSERT INTO receipt SELECT i, 'R-' || (40000+i), t, CASE WHEN t IN (5,6,7) THEN NULL ELSE 1 + least(h(i,'c',8), h(i,'d',7)) END,
 TIMESTAMP '2025-01-03 07:05:00' + to_days(i*17//7) + to_hours(h(i,'h',7) + h(i,'hh',8)) + to_minutes(h(i,'m',55)),
 25 + h(i,'s',260), CASE WHEN h(i,'p',10) < 6 THEN 'card' WHEN h(i,'p',10) < 8 THEN 'cash' WHEN h(i,'p',10) = 8 THEN 'phone' ELSE 'gift card' END,
 CASE WHEN h(i,'l',5) < 2 THEN NULL ELSE 'LC' || (700 + least(h(i,'l2',40), h(i,'l3',30))) END, h(i,'v',17) = 0, CASE WHEN h(i,'k',6) = 0 THEN 0.5 + h(i,'k2',8) END
 FROM (SELECT i, CAST([1,1,1,2,2,4,4,5,5,5,6,6,7,3][1 + h(i,'t',14)] AS INTEGER) AS t FROM range(1,281) r(i));
CREATE TABLE receipt_line (line_id INTEGER PRIMARY KEY, receipt_id INTEGER REFERENCES receipt(receipt_id), product VARCHAR, aisle VARCHAR, packs INTEGER, weight_kg DOUBLE, line_total DECIMAL(7,2), offer_id INTEGER REFERENCES offer(offer_id), price_override BOOLEAN);
INSERT INTO receipt_line SELECT i, 1 + least(h(i,'r',280), h(i,'rr',320)), p[1], p[2], 1 + least(h(i,'q',6), h(i,'q2',4)), CASE WHEN p[2] IN ('produce','fish') THEN 0.2 + (h(i,'w',30)) / 20 END,
 1.2 + (h(i,'a',140)) / 10.0 * (CASE WHEN p[2] = 'wine' THEN 2 ELSE 1 END), CASE WHEN p[3] <> '' AND h(i,'o',3) < 2 THEN CAST(p[3] AS INTEGER) END, h(i,'po',23) = 0
 FROM (SELECT i, [['margherita pizza','frozen','1'],['salmon fillet','fish','2'],['rioja','wine','3'],['mature cheddar','dairy','4'],['nappies size 4','baby',''],['chicken wrap','chilled','6'],['bananas','produce',''],['ground coffee','grocery','7'],['semi-skimmed milk','dairy',''],['potatoes','produce',''],['oat drink','dairy','10'],['sliced loaf','bakery',''],['croissant','bakery','']][1 + h(i,'x',13)] AS p FROM range(1,301) r(i));

CREATE TABLE gym_bookings ("Booking #" INTEGER, "Member" VARCHAR, "Gender" VARCHAR, "Member Since" VARCHAR, "Plan" VARCHAR, "Class" VARCHAR, "Trainer" VARCHAR, "Room" VARCHAR, "Class Date" VARCHAR, "Start" VARCHAR, "Booked Via" VARCHAR, "Attended" VARCHAR, "Paid" VARCHAR, "Discount" VARCHAR, "Rating" INTEGER);
INSERT INTO gym_bookings
WITH mem AS (SELECT m::INTEGER m,
   ['Anna','Bruno','Cathy','Dmitri','Ella','Farid','Gwen','Hassan','Irene','Jack','Kira','Leon','Maya','Nils','Oona','Pete','Quinn','Rosa','Stan','Tara'][1+((m*3)%20)::INT]||' '||
   ['Abbott','Bergman','Castillo','Doyle','Evans','Farrow','Gupta','Hoang','Ivers','Jensen','Keane'][1+((m*4)%11)::INT] nm,
   CASE WHEN ((m*3)%20) IN (0,2,4,6,8,10,12,14,17,19) THEN 'F' WHEN ((m*3)%20)=16 THEN NULL ELSE 'M' END g,
   (DATE '2019-02-03' + (hash(m,'since')%2350)::INT)::DATE since,
   ['Basic','Basic','Basic','Basic','Silver','Silver','Silver','Gold','Gold'][1+(hash(m,'plan')%9)::INT] plan,
   (hash(m,'rel')%3)::INT rel FROM range(1,45) t(m)),
 cls(k, c, tr, room, price, tr2) AS (VALUES (1,'Spinning','Dana Kruger','Cycle Room',12.0,'Milo Ferreira'),(2,'Yoga Flow','Asha Menon','Studio A',14.0,'Asha Menon'),(3,'Power Yoga','Asha Menon','Studio A',15.5,'Jess Orton'),
   (4,'Boxing','Viktor Sorin','Ring',16.0,'Viktor Sorin'),(5,'Pilates','Jess Orton','Studio B',14.5,'Lena Albrecht'),(6,'Aqua Fit','Lena Albrecht','Pool',11.0,'Lena Albrecht'),(7,'HIIT','Milo Ferreira','Studio B',13.0,'Dana Kruger'),
   (8,'Open Gym','', 'Main Floor',6.0,''),(9,'Zumba','Dana Kruger','Studio A',12.5,'Rico Santos'),(10,'Team Workshop','Viktor Sorin','Main Floor',1150.0,'Milo Ferreira')),
 b AS (SELECT i::INTEGER i, mem.*, 
    CASE WHEN i%97=0 THEN 10 ELSE [1,1,1,1,2,2,2,3,4,4,5,5,6,7,7,7,8,8,9][1+(CASE WHEN hash(i,'fav')%3=0 THEN hash(m,'f') ELSE hash(i,'k') END%19)::INT] END k,
    (greatest(since, DATE '2022-11-20') + ((DATE '2026-11-16' - greatest(since, DATE '2022-11-20')) * (1-pow((hash(i,'d')%1000)/1000.0,1.5)))::INT)::DATE d0
  FROM range(1,361) t(i) JOIN mem ON m = 1 + floor(44*pow((hash(i,'m')%1000)/1000.0,1.6))::INT),
 x AS (SELECT b.*, cls.* EXCLUDE (k), CASE WHEN isodow(d0)=7 AND i%4>0 THEN d0-1-(i%5)::INT WHEN isodow(d0)=5 AND i%3=0 THEN d0-3 ELSE d0 END::DATE d1 FROM b JOIN cls USING (k)),
 y AS (SELECT *, greatest(d1, since) d, CASE WHEN k=10 OR hash(i,'dc')%4>0 THEN NULL ELSE [5.0,10,10,12.5,20][1+(hash(i,'dp')%5)::INT] END dc,
   CASE WHEN hash(i,'att')%7=0 AND rel<2 OR hash(i,'att')%19=1 AND rel<>2 THEN 'no' ELSE 'yes' END att,
   CASE WHEN tr='' THEN NULL WHEN hash(i,'t2')%3=0 THEN tr2 ELSE tr END trn FROM x)
SELECT (20000 + row_number() OVER (ORDER BY d, i))::INTEGER, nm, g, strftime(since,'%d.%m.%Y'), plan, c, trn, room, strftime(d,'%d.%m.%Y'),
  ['06:30','07:00','09:15','12:15','17:30','18:00','18:00','18:30','18:30','19:15','20:00'][1+(hash(i,'st')%11)::INT],
  ['App','App','App','Web','Desk'][1+(hash(i,'via')%5)::INT], att, printf('$%,.2f', round(price*(1-coalesce(dc,0)/100),2)),
  CASE WHEN dc IS NULL THEN NULL WHEN dc=12.5 THEN '12.5%' ELSE dc::INT||'%' END,
  CASE WHEN att='no' OR trn IS NULL OR hash(i,'rate')%3=0 THEN NULL ELSE least(5, greatest(1, [3,4,4,5,5,5,2,4][1+(hash(i,'r')%8)::INT] - CASE WHEN trn LIKE 'Milo%' THEN 1 WHEN trn LIKE 'Asha%' AND hash(i,'z')%2=0 THEN -1 ELSE 0 END)) END
FROM y ORDER BY d, i;

CREATE TABLE arranger (arranger_id INTEGER PRIMARY KEY, full_name VARCHAR, job_title VARCHAR, joined_on DATE, drives_hearse BOOLEAN);
INSERT INTO arranger VALUES (1,'Maureen Oddie','senior arranger','2009-03-02',false),(2,'Colin Thwaite','arranger','2016-09-12',true),(3,'Bethan Pugh','arranger','2021-01-18',true),
 (4,'Desmond Achebe','embalmer','2018-05-07',true),(5,'Ivy Rattigan','apprentice','2024-08-27',false),(6,'Graham Sledge','arranger','2012-11-05',true);
CREATE TABLE coffin (coffin_id INTEGER PRIMARY KEY, model VARCHAR, material VARCHAR, list_price DOUBLE, max_load_kg INTEGER, biodegradable BOOLEAN);
INSERT INTO coffin VALUES (1,'Ribble','oak veneer',480,160,false),(2,'Lonsdale','solid oak',1650,180,false),(3,'Furness','wicker',720,120,true),(4,'Kendal','wool',990,140,true),
 (5,'Grasmere','cardboard',310,115,true),(6,'Windsor','mahogany',2400,200,false),(7,'Morecambe','oak veneer',540,250,false),(8,'Sedge','banana leaf',815,130,true),(9,'Abbot','solid oak',1980,190,false);
CREATE TABLE venue (venue_id INTEGER PRIMARY KEY, name VARCHAR, kind VARCHAR, town VARCHAR, miles_away DOUBLE, slot_minutes INTEGER);
INSERT INTO venue VALUES (1,'Torrisholme Crematorium','crematorium','Lancaster',4.5,40),(2,'Beetham Hall Crematorium','crematorium','Milnthorpe',12.0,45),(3,'St Oswald','church','Warton',7.2,60),
 (4,'Scotforth Cemetery','cemetery','Lancaster',3.1,30),(5,'Hyning Woodland','natural burial ground','Warton',8.4,90),(6,'Our Lady Star of the Sea','church','Morecambe',5.0,60),(7,'Hale Carr Cemetery','cemetery','Morecambe',5.6,30),(8,'Lindale Meadow','natural burial ground','Grange',21.0,120);
CREATE TABLE funeral (funeral_id INTEGER PRIMARY KEY, deceased VARCHAR, born_on DATE, died_on DATE, service_at TIMESTAMP, disposal VARCHAR, venue_id INTEGER REFERENCES venue(venue_id), coffin_id INTEGER REFERENCES coffin(coffin_id),
 arranger_id INTEGER REFERENCES arranger(arranger_id), mourners INTEGER, limousines INTEGER, total_fee DOUBLE, prepaid_plan BOOLEAN, ashes_collected_on DATE, music VARCHAR);
INSERT INTO funeral SELECT i, (['Edna','Walter','Jean','Stanley','Doris','Harold','Sheila','Frank','Norman','Brenda','Alf','Winifred'])[1+(hash(i,'f')%12)::INT]||' '||(['Bibby','Gardner','Parkinson','Hodgson','Airey','Woodhouse','Threlfall','Kellet','Shaw','Nowak','Mashiter'])[1+(hash(i,'l')%11)::INT],
 d - (14000 + (hash(i,'age')%21500)::INT), d, (d + 8 + (hash(i,'gap')%17)::INT)::TIMESTAMP + to_minutes(540 + 30*(hash(i,'hr')%14)::INT), CASE WHEN v IN (1,2,6) THEN 'cremation' ELSE 'burial' END, v,
 CASE WHEN hash(i,'c')%23=0 THEN NULL ELSE ([1,1,1,1,2,3,3,5,5,4,7,9])[1+(hash(i,'c')%12)::INT] END, ([1,1,1,2,2,3,3,6])[1+(hash(i,'a')%8)::INT], CASE WHEN hash(i,'m')%15=0 THEN NULL ELSE 4 + (hash(i,'m')%37)::INT*(1+(hash(i,'mm')%5)::INT) END,
 (hash(i,'li')%4)::INT, 1450 + 85*(hash(i,'fee')%40)::INT, hash(i,'pp')%4=0, CASE WHEN v IN (1,2,6) AND hash(i,'ash')%5>0 AND d < DATE '2026-06-01' THEN d + 30 + (hash(i,'ash')%160)::INT END, (['Abide with Me','My Way','Time to Say Goodbye','Bring Me Sunshine',NULL])[1+(hash(i,'mu')%5)::INT]
 FROM (SELECT i, DATE '2022-01-05' + (i*1770//230)::INT d, ([1,1,1,1,2,3,4,4,5,6,7])[1+(hash(i,'v')%11)::INT] v FROM range(1,231) t(i));
CREATE TABLE payment (payment_id INTEGER PRIMARY KEY, funeral_id INTEGER REFERENCES funeral(funeral_id), paid_on DATE, amount DOUBLE, method VARCHAR, payer VARCHAR);
INSERT INTO payment SELECT i, f, (SELECT service_at::DATE FROM funeral WHERE funeral_id=f) + (hash(i,'d')%70)::INT, 250 + 125*(hash(i,'am')%18)::INT, (['bank transfer','bank transfer','card','cheque','cash'])[1+(hash(i,'me')%5)::INT],
 (['family','family','estate','insurer','council'])[1+(hash(i,'py')%5)::INT] FROM (SELECT i, 1+(hash(i,'fu')%215)::INT f FROM range(1,281) t(i)) WHERE f NOT IN (7,19,44);

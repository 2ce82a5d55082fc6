CREATE TABLE room_type (code VARCHAR PRIMARY KEY, label VARCHAR, beds INTEGER, base_rate DOUBLE);
INSERT INTO room_type VALUES ('SGL','Single',1,69),('DBL','Double',1,98),('TWN','Twin',2,95),('FAM','Family Room',4,149),('JST','Junior Suite',2,189),('STE','Suite',2,265);

CREATE TABLE room (room_no INTEGER PRIMARY KEY, floor INTEGER, type_code VARCHAR REFERENCES room_type(code), sqm DOUBLE, balcony INTEGER, renovated_on DATE);
INSERT INTO room VALUES
(101,1,'SGL',14.5,0,'2021-03-12'),(102,1,'SGL',14.0,0,NULL),(103,1,'DBL',21.0,0,'2019-11-02'),(104,1,'TWN',22.5,0,'2019-11-02'),(105,1,'TWN',20.5,0,NULL),
(201,2,'SGL',15.0,0,'2021-03-20'),(202,2,'DBL',22.0,1,'2023-02-14'),(203,2,'DBL',23.5,1,NULL),(204,2,'DBL',22.0,0,'2019-11-09'),(205,2,'TWN',24.0,1,'2023-02-14'),(206,2,'FAM',36.0,1,'2023-02-18'),
(301,3,'SGL',15.5,1,NULL),(302,3,'DBL',23.0,1,'2024-01-22'),(303,3,'DBL',25.5,1,'2024-01-22'),(304,3,'TWN',24.5,0,NULL),(305,3,'FAM',38.5,1,'2024-01-29'),(306,3,'FAM',34.0,0,'2018-12-05'),(307,3,'JST',41.0,1,'2024-02-03'),
(401,4,'DBL',26.0,1,'2025-01-15'),(402,4,'JST',43.5,1,'2025-01-15'),(403,4,'JST',40.0,0,NULL),(404,4,'JST',44.0,1,'2025-01-21'),(501,5,'STE',62.0,1,'2022-10-30'),(502,5,'STE',70.5,1,NULL);

CREATE TABLE guest (guest_id INTEGER PRIMARY KEY, first_name VARCHAR, last_name VARCHAR, country VARCHAR, birth_date DATE, email VARCHAR, vip INTEGER);
INSERT INTO guest VALUES
(1,'Ingrid','Solberg','Norway','1968-04-17','ingrid.solberg@fjordpost.no',1),(2,'Thomas','Brandt','Germany','1975-09-02','t.brandt@mailbox.de',1),(3,'Marie','Lefevre','France','1981-12-24','marie.lefevre@laposte.fr',0),
(4,'Chidi','Okafor','Nigeria','1972-06-30','chidi@okaforgroup.ng',1),(5,'Anna','Brandt','Germany','1979-01-11',NULL,0),(6,'James','Whitaker','United Kingdom','1951-08-08','jwhitaker@post.uk',0),
(7,'Lucia','Moretti','Italy','1990-03-03','lucia.moretti@libero.it',0),(8,'Hiroshi','Tanaka','Japan','1964-10-19','h.tanaka@tanaka.jp',1),(9,'Sofie','De Smet','Belgium','1988-07-21',NULL,0),
(10,'Pavel','Novak','Czech Republic','1985-05-15','pavel.novak@seznam.cz',0),(11,'Karin','Lindqvist','Sweden','1947-02-27','karin.l@telia.se',1),(12,'Ahmed','Mansour','Egypt','1977-11-05','a.mansour@nilemail.eg',0),
(13,'Julia','Hoffmann','Germany','1993-06-12','julia.hoffmann@web.de',0),(14,'Peter','Hoffmann','Germany','1991-10-01','peter.hoffmann@web.de',0),(15,'Claire','Dubois','France','1959-03-29','claire.dubois@orange.fr',0),
(16,'Rob','Jansen','Netherlands','1983-08-30','rob.jansen@ziggo.nl',0),(17,'Femke','Visser','Netherlands','1996-04-04',NULL,0),(18,'Oliver','Grant','United Kingdom','1970-12-12','oliver.grant@post.uk',0),
(19,'Emily','Carter','United States','1987-09-17','emily.carter@mail.us',0),(20,'Michael','Carter','United States','1984-02-08','michael.carter@mail.us',0),(21,'Diego','Ramos','Spain','1992-01-30','diego.ramos@correo.es',0),
(22,'Elena','Ramos','Spain','1994-05-26',NULL,0),(23,'Jonas','Keller','Switzerland','1966-07-07','jonas.keller@bluewin.ch',1),(24,'Ursula','Keller','Switzerland','1969-11-23',NULL,0),
(25,'Wei','Zhang','China','1989-12-02','wei.zhang@mail.cn',0),(26,'Priya','Nair','India','1995-08-14','priya.nair@inmail.in',0),(27,'Henrik','Dahl','Norway','1978-03-16','henrik.dahl@fjordpost.no',0),
(28,'Beata','Kowalska','Poland','1986-10-10','beata.k@onet.pl',0),(29,'Marco','Rossi','Italy','1973-04-22','marco.rossi@libero.it',0),(30,'Gudrun','Wolf','Germany','1944-05-09',NULL,0),
(31,'Aisling','Byrne','Ireland','1998-09-09','aisling.byrne@eircom.ie',0),(32,'Liam','Byrne','Ireland','1997-02-19','liam.byrne@eircom.ie',0),(33,'Noah','Fischer','Austria',NULL,'noah.fischer@aon.at',0),
(34,'Lena','Gruber','Austria','1982-06-06','lena.gruber@aon.at',0),(35,'Tiago','Costa','Portugal','1980-08-25','tiago.costa@sapo.pt',0),(36,'Margaret','Holloway','United Kingdom','1953-01-19',NULL,1),
(37,'Yuki','Sato','Japan','1999-11-11','yuki.sato@tanaka.jp',0),(38,'Stefan','Meier','Germany','1988-04-13','stefan.meier@gmx.de',0),(39,'Camille','Laurent','France',NULL,'camille.laurent@free.fr',0),
(40,'Bruno','Silva','Brazil','1990-07-18','bruno.silva@uol.br',0),(41,'Nina','Petrova','Bulgaria','1985-03-08','nina.p@abv.bg',0),(42,'George','Adams','United States','1962-10-27','george.adams@mail.us',0),
(43,'Hannah','Schulz','Germany','2001-01-05',NULL,0),(44,'Erik','Nilsson','Sweden','1976-09-24','erik.nilsson@telia.se',0),(45,'Sara','Nilsson','Sweden','1979-12-15',NULL,0),
(46,'Kofi','Boateng','Ghana','1984-06-02','kofi.boateng@mail.gh',0),(47,'Fatima','Zahra','Morocco','1991-02-14','fatima.z@menara.ma',0),(48,'Daan','Bakker','Netherlands','1967-05-31','daan.bakker@ziggo.nl',0),
(49,'Isabel','Fuentes','Spain',NULL,NULL,0),(50,'Viktor','Horvath','Hungary','1971-08-20','viktor.horvath@freemail.hu',0);

CREATE TABLE service (service_id INTEGER PRIMARY KEY, name VARCHAR, kind VARCHAR, price DOUBLE);
INSERT INTO service VALUES (1,'Breakfast buffet','food',18.5),(2,'Late night snack','food',12),(3,'Champagne bottle','food',75),(4,'Massage 60 min','spa',80),(5,'Sauna','spa',15),(6,'Facial treatment','spa',65),(7,'Airport transfer','transport',45),(8,'Bike rental','transport',20),(9,'Shirt ironing','laundry',4.5),(10,'Laundry bag','laundry',22),(11,'Babysitting hour','family',25),(12,'Helicopter tour','transport',480);

CREATE TABLE booking (booking_id INTEGER PRIMARY KEY, guest_id INTEGER REFERENCES guest(guest_id), room_no INTEGER REFERENCES room(room_no), booked_on DATE, check_in DATE, check_out DATE, adults INTEGER, children INTEGER, channel VARCHAR, status VARCHAR, nightly_rate DOUBLE);
INSERT INTO booking
WITH r AS (SELECT row_number() OVER (ORDER BY room_no) - 1 AS n, room_no, type_code FROM room),
s AS (SELECT r.room_no, r.type_code, r.n * 100 + k AS h, DATE '2023-01-06' + (k * 93 + (hash(r.n * 100 + k, 'start') % 80)::INTEGER)::INTEGER AS ci,
       (1 + (hash(r.n * 100 + k, 'nights') % 4) + CASE WHEN hash(r.n * 100 + k, 'long') % 6 = 0 THEN 4 ELSE 0 END)::INTEGER AS nights
      FROM r, range(16) t(k) WHERE hash(r.n * 100 + k, 'keep') % 100 < 55 + r.n * 2 % 37),
p AS (SELECT *, (1 + floor(pow((hash(h, 'guest') % 1000) / 1000.0, 1.8) * 45))::INTEGER AS g, row_number() OVER (ORDER BY ci, room_no) AS id FROM s WHERE ci < DATE '2026-11-15')
SELECT id, g, room_no, ci - (1 + hash(h, 'lead') % (CASE WHEN hash(h, 'early') % 3 = 0 THEN 120 ELSE 30 END))::INTEGER, ci, ci + nights,
  CASE WHEN type_code = 'SGL' THEN 1 ELSE 1 + (hash(h, 'adults') % 4 > 0)::INTEGER END,
  CASE WHEN type_code = 'FAM' THEN (1 + hash(h, 'kids') % 3)::INTEGER WHEN type_code IN ('JST', 'STE') AND hash(h, 'kids') % 5 = 0 THEN 1 ELSE 0 END,
  (['website','website','website','Booking.com','Booking.com','Booking.com','Booking.com','phone','phone','walk-in','Expedia','Expedia'])[1 + (hash(h, 'channel') % 12)::INTEGER],
  CASE WHEN hash(h, 'status') % 100 < 13 THEN 'cancelled' WHEN hash(h, 'status') % 100 < 17 THEN 'no show' ELSE 'checked out' END,
  (SELECT base_rate FROM room_type WHERE code = type_code) + (hash(h, 'rate') % 7)::INTEGER * 5 - 10
FROM p WHERE ci + nights < DATE '2026-11-17';
INSERT INTO booking VALUES
(901,2,401,'2026-10-30','2026-11-16','2026-11-20',2,0,'website','in house',108),(902,19,206,'2026-11-02','2026-11-17','2026-11-19',2,2,'Booking.com','in house',149),(903,8,501,'2026-09-11','2026-11-15','2026-11-22',1,0,'phone','in house',265),
(904,31,302,'2026-11-10','2026-11-20','2026-11-22',2,0,'website','reserved',98),(905,16,305,'2026-10-21','2026-11-21','2026-11-24',2,1,'Booking.com','reserved',154),(906,11,404,'2026-08-30','2026-12-22','2026-12-28',2,0,'phone','reserved',199),
(907,1,502,'2026-09-19','2026-12-23','2026-12-30',2,0,'website','reserved',290),(908,28,203,'2026-11-05','2026-12-04','2026-12-06',1,0,'Expedia','reserved',98),(909,23,402,'2026-10-02','2026-12-29','2027-01-03',2,0,'phone','reserved',215),
(910,38,103,'2026-11-12','2026-11-27','2026-11-29',1,0,'Booking.com','cancelled',98),(911,36,501,'2026-07-14','2027-02-12','2027-02-16',2,0,'phone','reserved',270);

CREATE TABLE service_order (order_id INTEGER PRIMARY KEY, booking_id INTEGER REFERENCES booking(booking_id), service_id INTEGER REFERENCES service(service_id), qty INTEGER, ordered_on DATE);
INSERT INTO service_order
SELECT row_number() OVER (ORDER BY check_in, booking_id, k), booking_id, (1 + floor(pow((hash(booking_id * 10 + k, 'svc') % 1000) / 1000.0, 1.4) * 11))::INTEGER,
  (1 + hash(booking_id * 10 + k, 'qty') % 3)::INTEGER, check_in + (hash(booking_id * 10 + k, 'day') % (check_out - check_in))::INTEGER
FROM booking, range(3) t(k) WHERE status = 'checked out' AND hash(booking_id * 10 + k, 'has') % 10 < 4 - k;

CREATE TABLE "Teachers" ("Teacher ID" INTEGER PRIMARY KEY, "Name" VARCHAR, "Mother Tongue" VARCHAR, "Hired On" DATE, "Left On" DATE, "Hourly Pay" DOUBLE, "Freelance" BOOLEAN);
INSERT INTO "Teachers" VALUES
 (1, 'Carmen Ortiz', 'Spanish', '2015-09-01', NULL, 31.5, false), (2, 'Jean-Luc Bernard', 'French', '2017-02-13', NULL, 30, false), (3, 'Heike Sommer', 'German', '2018-08-20', '2025-06-30', 29.5, false),
 (4, 'Paolo Rinaldi', 'Italian', '2019-01-07', NULL, 27, true), (5, 'Sarah Whitfield', 'English', '2019-09-02', NULL, 32, false), (6, 'Mei Chen', 'Mandarin', '2020-10-12', NULL, 34, true),
 (7, 'Lucía Herrera', 'Spanish', '2021-09-06', NULL, 26, true), (8, 'Aisha Benali', 'Arabic', '2022-02-01', '2024-12-20', 28, true), (9, 'Tom Gallagher', 'English', '2022-09-05', NULL, 27.5, false),
 (10, 'Yoko Hayashi', 'Japanese', '2023-03-27', NULL, 33, true), (11, 'Klaus Brandt', 'German', '2025-08-25', NULL, NULL, false), (12, 'Ana Pereira', 'Portuguese', '2026-10-19', NULL, 26, true);
CREATE TABLE "Groups" ("Group ID" INTEGER PRIMARY KEY, "Group Name" VARCHAR, "Language" VARCHAR, "Level" VARCHAR, "Teacher ID" INTEGER REFERENCES "Teachers"("Teacher ID"), "Room" VARCHAR, "Start Date" DATE, "End Date" DATE, "Max Students" INTEGER, "Course Fee" DOUBLE);
INSERT INTO "Groups" VALUES
 (1, 'Spanish Starters', 'Spanish', 'A1', 1, 'Blue', '2023-09-11', '2024-02-02', 12, 380), (2, 'Spanish Evening', 'Spanish', 'A2', 7, 'Blue', '2023-09-12', '2024-06-21', 12, 560), (3, 'French for Fun', 'French', 'A1', 2, 'Red', '2023-09-13', '2024-06-19', 10, 540),
 (4, 'German Intensive', 'German', 'B1', 3, 'Green', '2024-01-15', '2024-05-31', 12, 720), (5, 'Business English', 'English', 'C1', 5, 'Loft', '2024-02-05', '2024-06-28', 16, 790), (6, 'Arabic Basics', 'Arabic', 'A1', 8, 'Red', '2024-02-06', '2024-07-05', 10, 490),
 (7, 'Italian Holiday', 'Italian', 'A1', 4, 'Green', '2024-04-08', '2024-06-14', 14, 240), (8, 'Spanish Conversation', 'Spanish', 'B2', 1, 'Blue', '2024-09-09', '2025-02-07', 10, 450), (9, 'Mandarin One', 'Mandarin', 'A1', 6, 'Loft', '2024-09-10', '2025-06-20', 8, 680),
 (10, 'English Exam Prep', 'English', 'B2', 9, 'Red', '2024-09-11', '2025-06-13', 12, 610), (11, 'French Lunch', 'French', 'A2', 2, NULL, '2025-01-13', '2025-06-27', 6, 420), (12, 'German Evening', 'German', 'A2', 3, 'Green', '2025-01-14', '2025-06-26', 12, 520),
 (13, 'Japanese Manga Club', 'Japanese', 'A1', 10, 'Loft', '2025-03-03', '2025-12-19', 10, 590), (14, 'Spanish Starters Plus', 'Spanish', 'A1', 7, 'Blue', '2025-09-08', '2026-02-06', 12, 395), (15, 'English Conversation', 'English', 'B1', 9, 'Red', '2025-09-09', '2026-06-19', 12, 480),
 (16, 'German Restart', 'German', 'B1', 11, 'Green', '2025-09-10', '2026-06-17', 10, 560), (17, 'Italian Kitchen', 'Italian', 'A2', 4, 'Loft', '2026-01-19', '2026-06-26', 10, 510), (18, 'French Literature', 'French', 'C1', 2, 'Red', '2026-02-09', NULL, 10, 640),
 (19, 'Spanish Autumn', 'Spanish', 'B1', 1, 'Blue', '2026-09-07', NULL, 12, 430), (20, 'Business English Two', 'English', 'C1', 5, 'Loft', '2026-09-08', NULL, 16, 820), (21, 'Portuguese Taster', 'Portuguese', 'A1', 12, 'Green', '2026-11-02', NULL, 12, 190), (22, 'Arabic Again', 'Arabic', 'A1', NULL, NULL, '2027-01-11', NULL, 10, 510);
CREATE TABLE "Students" ("Student ID" INTEGER PRIMARY KEY, "Full Name" VARCHAR, "City" VARCHAR, "Date of Birth" DATE, "Signed Up" DATE, "Company" VARCHAR, "Newsletter" BOOLEAN);
INSERT INTO "Students"
WITH n AS (SELECT ['Agnes', 'Boris', 'Celia', 'Dmitri', 'Edith', 'Fabian', 'Gloria', 'Henrik', 'Iris', 'Joel', 'Kamila', 'Ludwig', 'Miriam', 'Noel', 'Olivia', 'Piotr', 'Rosa', 'Stefan', 'Tessa'] AS f,
 ['Albers', 'Becker', 'Cohen', 'Drozd', 'Ferber', 'Graham', 'Holt', 'Iversen', 'Jansen', 'Kowal', 'Lindner', 'Murphy', 'Nowak', 'Olsen', 'Peters', 'Quinn', 'Roth', 'Sander'] AS l)
SELECT i, f[1 + (i * 5 % 19)] || ' ' || l[1 + (i * 7 % 18)], ['Lindenau', 'Lindenau', 'Lindenau', 'Lindenau', 'Bergstadt', 'Bergstadt', 'Altmark', 'Seehausen', NULL][1 + (hash(i, 'c') % 9)::INT],
 CASE WHEN i % 14 <> 9 THEN DATE '1950-01-20' + (hash(i, 'b') % 20800)::INT END, least(DATE '2026-11-09', DATE '2022-07-04' + (i * 18 + hash(i, 's') % 50)::INT),
 CASE WHEN hash(i, 'co') % 4 = 0 THEN ['Nordbank', 'Kessler Logistics', 'Nordbank', 'Viamed'][1 + (hash(i, 'cm') // 7 % 4)::INT] END, CASE WHEN hash(i, 'nl') % 11 = 0 THEN NULL ELSE hash(i, 'nw') % 3 > 0 END
FROM range(1, 89) t(i), n;
CREATE TABLE "Enrolments" ("Enrolment ID" INTEGER PRIMARY KEY, "Student ID" INTEGER REFERENCES "Students"("Student ID"), "Group ID" INTEGER REFERENCES "Groups"("Group ID"), "Enrolled On" DATE, "Dropped On" DATE, "Amount Paid" DOUBLE, "Final Score" INTEGER);
INSERT INTO "Enrolments"
SELECT row_number() OVER (ORDER BY g."Start Date", s."Student ID"), s."Student ID", g."Group ID", greatest(s."Signed Up", g."Start Date" - 5 - (hash(s."Student ID", g."Group ID", 'e') % 50)::INT),
 CASE WHEN hash(s."Student ID", g."Group ID", 'd') % 9 = 0 AND g."Start Date" < '2026-09-01' THEN g."Start Date" + 12 + (hash(s."Student ID", 'dd') % 60)::INT END,
 CASE WHEN hash(s."Student ID", g."Group ID", 'p') % 15 = 0 THEN 0 WHEN s."Company" IS NOT NULL THEN round(g."Course Fee" * 0.9) WHEN hash(s."Student ID", 'h') % 8 = 0 THEN round(g."Course Fee" * 0.5) ELSE g."Course Fee" END,
 CASE WHEN g."End Date" < '2026-11-18' AND hash(s."Student ID", g."Group ID", 'd') % 9 > 0 THEN 40 + (hash(s."Student ID", 'sc') % 35 + hash(s."Student ID", g."Group ID", 'sd') % 26)::INT END
FROM "Groups" g JOIN "Students" s ON s."Signed Up" <= g."Start Date" - 3 AND s."Student ID" % 13 <> 5
WHERE g."Group ID" <> 22 AND hash(s."Student ID", g."Group ID", 'in') % 101 < CASE WHEN g."Start Date" < '2024-06-01' THEN 28 WHEN g."Language" IN ('Spanish', 'English') THEN 17 ELSE 11 END;
CREATE TABLE "Lessons" ("Lesson ID" INTEGER PRIMARY KEY, "Group ID" INTEGER REFERENCES "Groups"("Group ID"), "Starts At" TIMESTAMP, "Minutes" INTEGER, "Topic" VARCHAR, "Attendance" INTEGER, "Cancelled" BOOLEAN);
INSERT INTO "Lessons"
SELECT row_number() OVER (ORDER BY g."Start Date", g."Group ID", w), g."Group ID", (g."Start Date" + (w * 14)::INT)::TIMESTAMP + to_hours([18, 18, 19, 17, 9, 12][1 + g."Group ID" % 6]::BIGINT), [90, 90, 60, 120][1 + g."Group ID" % 4],
 CASE WHEN hash(g."Group ID", w, 't') % 8 > 0 THEN ['Past tense', 'Food and drink', 'Travel', 'Small talk', 'Grammar review', 'Numbers and dates', 'Work and jobs', 'Pronunciation'][1 + (hash(g."Group ID", w, 'tt') % 8)::INT] END,
 CASE WHEN hash(g."Group ID", w, 'x') % 14 > 0 AND e.n > 0 THEN greatest(1, e.n - (hash(g."Group ID", w, 'a') % 5)::INT) END, hash(g."Group ID", w, 'x') % 14 = 0
FROM "Groups" g JOIN (SELECT "Group ID", count(*)::INT AS n FROM "Enrolments" GROUP BY 1) e USING ("Group ID"), range(0, 18) t(w)
WHERE g."Start Date" + (w * 14)::INT <= least(coalesce(g."End Date", DATE '2026-11-17'), DATE '2026-11-17');

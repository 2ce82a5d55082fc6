CREATE TABLE patients (patient_id INTEGER PRIMARY KEY, full_name VARCHAR, birth_date DATE, bmi DOUBLE, referred_by VARCHAR, amh_ng_ml DOUBLE, smoker BOOLEAN);
INSERT INTO patients SELECT i, ['Anna','Beatriz','Chloe','Dunja','Elif','Freya','Grace','Hanna','Iris','Jana','Katya','Leila'][1 + (i * 5) % 12] || ' ' || ['Aldous','Bergman','Castro','Duval','Eriksen','Fontana','Garrido','Holm','Ivanova','Jansen'][1 + (i * 3 + i // 12) % 10] || CASE WHEN i > 50 THEN '-Roth' ELSE '' END,
  DATE '1979-03-02' + (hash('b' || (i)) % 6200)::INT, round(18.5 + (hash('bm' || (i)) % 160) / 10.0, 1), [NULL,'GP','GP','GP','self','self','oncology unit','other clinic'][1 + (hash('r' || (i)) % 8)::INT],
  CASE WHEN i % 9 = 0 THEN NULL ELSE round(0.3 + (hash('amh' || (i)) % 62) / 10.0, 1) END, hash('s' || (i)) % 7 = 0 FROM range(1, 61) t(i);
CREATE TABLE cycles (cycle_id INTEGER PRIMARY KEY, patient_id INTEGER REFERENCES patients(patient_id), clinician VARCHAR, protocol VARCHAR, stim_started_on DATE, retrieval_on DATE, eggs_retrieved INTEGER, eggs_mature INTEGER, cancel_reason VARCHAR, fee_eur DOUBLE, state_funded BOOLEAN);
INSERT INTO cycles SELECT i, 1 + ((hash('p' || (i)) % 50) * (hash('p2' || (i)) % 50) // 50)::INT, ['Dr Okafor','Dr Okafor','Dr Okafor','Dr Lindqvist','Dr Lindqvist','Dr Maes'][1 + (hash('c' || (i)) % 6)::INT],
  ['antagonist','antagonist','antagonist','long agonist','long agonist','natural','mini-IVF'][1 + (hash('pr' || (i)) % 7)::INT], DATE '2022-02-01' + (i * 155 // 10)::INT,
  CASE WHEN hash('x' || (i)) % 8 = 0 OR i > 108 THEN NULL ELSE DATE '2022-02-01' + (i * 155 // 10)::INT + 10 + (hash('d' || (i)) % 6)::INT END,
  CASE WHEN hash('x' || (i)) % 8 = 0 OR i > 108 THEN NULL ELSE 3 + (hash('e' || (i)) % 17)::INT END, CASE WHEN hash('x' || (i)) % 8 = 0 OR i > 108 THEN NULL ELSE 2 + (hash('e' || (i)) % 17 * 3 // 4)::INT END,
  CASE WHEN hash('x' || (i)) % 8 = 0 THEN ['poor response','poor response','OHSS risk','illness'][1 + (hash('cr' || (i)) % 4)::INT] END, 2900 + (hash('f' || (i)) % 14)::INT * 150, hash('sf' || (i)) % 5 < 2 FROM range(1, 112) t(i);
CREATE TABLE embryos (embryo_id INTEGER PRIMARY KEY, cycle_id INTEGER REFERENCES cycles(cycle_id), tag VARCHAR, fertilised_by VARCHAR, grade VARCHAR, day_reached INTEGER, pgt_result VARCHAR, frozen_on DATE, fate VARCHAR);
INSERT INTO embryos SELECT row_number() OVER (ORDER BY c.cycle_id, k), c.cycle_id, 'E' || c.cycle_id || '-' || k, CASE WHEN hash('icsi' || (c.cycle_id)) % 3 < 2 THEN 'ICSI' ELSE 'IVF' END,
  ['4AA','4AB','4BB','4BB','3BB','3BC','3CC'][1 + (hash('g' || (c.cycle_id * 10 + k)) % 7)::INT], [3,5,5,5,6,6][1 + (hash('dr' || (c.cycle_id * 10 + k)) % 6)::INT],
  [NULL,NULL,NULL,'euploid','euploid','aneuploid','mosaic'][1 + (hash('pgt' || (c.cycle_id * 10 + k)) % 7)::INT], CASE WHEN hash('fa' || (c.cycle_id * 10 + k)) % 10 IN (0, 1, 5, 6, 7) THEN c.retrieval_on + 5 END,
  ['transferred','transferred','transferred','transferred','discarded','stored','stored','stored','discarded','discarded'][1 + (hash('fa' || (c.cycle_id * 10 + k)) % 10)::INT]
  FROM cycles c, range(1, 5) t(k) WHERE c.retrieval_on IS NOT NULL AND k <= 1 + c.eggs_mature // 4;
CREATE TABLE transfers (transfer_id INTEGER PRIMARY KEY, embryo_id INTEGER REFERENCES embryos(embryo_id), transferred_on DATE, lining_mm DOUBLE, catheter_difficulty VARCHAR, hcg_positive BOOLEAN, born_on DATE);
INSERT INTO transfers SELECT row_number() OVER (ORDER BY e.embryo_id), e.embryo_id, CASE WHEN e.frozen_on IS NULL THEN c.retrieval_on + e.day_reached ELSE least(e.frozen_on + 40 + (hash('td' || (e.embryo_id)) % 300)::INT, DATE '2026-11-16') END,
  round(6.5 + (hash('l' || (e.embryo_id)) % 70) / 10.0, 1), ['easy','easy','easy','easy','moderate','difficult'][1 + (hash('cd' || (e.embryo_id)) % 6)::INT],
  CASE WHEN c.cycle_id > 107 THEN NULL ELSE hash('h' || (e.embryo_id)) % 5 < 2 END, CASE WHEN c.cycle_id < 75 AND hash('h' || (e.embryo_id)) % 5 < 2 AND hash('lb' || (e.embryo_id)) % 4 > 0 AND e.embryo_id % 2 < 2 THEN c.retrieval_on + 5 + CASE WHEN e.frozen_on IS NULL THEN 0 ELSE 340 END + 255 + (hash('bd' || (e.embryo_id)) % 20)::INT END
  FROM embryos e JOIN cycles c USING (cycle_id) WHERE e.fate = 'transferred';

#!/bin/bash
set -e
exec sqlite3 -bail "$1" <<'SQL'
BEGIN IMMEDIATE;
DROP TRIGGER IF EXISTS @moves@_added;
DROP TRIGGER IF EXISTS @moves@_changed;
DROP TRIGGER IF EXISTS @moves@_removed;
CREATE TEMP TABLE gone AS SELECT '' source, 0 source_id WHERE 0;
CREATE TEMP TABLE other AS SELECT 0 old_id, 0 new_id WHERE 0;
--x INSERT INTO gone SELECT * FROM deleted;
--x INSERT INTO other SELECT * FROM aliases;
CREATE TEMP TABLE p AS SELECT id, trim(full_name) n, coalesce(contact, '') || ';' c, coalesce(active, '') a
  FROM legacy_@people@ l
  WHERE id NOT IN (SELECT id FROM @people@) AND id NOT IN (SELECT old_id FROM other)
  AND NOT EXISTS (SELECT 1 FROM gone WHERE source = 'legacy_@people@' AND source_id = l.id);
UPDATE p SET n = replace(replace(replace(n, '  ', ' '), '  ', ' '), '  ', ' ');
INSERT OR IGNORE INTO quarantine SELECT 'legacy_@people@', id, 'bad_name' FROM p WHERE coalesce(n, '') NOT LIKE '% %';
INSERT INTO @people@ SELECT id, rtrim(rtrim(n, replace(n, ' ', ''))), replace(n, rtrim(n, replace(n, ' ', '')), ''),
  nullif(lower(trim(substr(c, 1, instr(c, ';') - 1))), ''),
  nullif(trim(replace(substr(c, instr(c, ';') + 1), ';', '')), ''),
  a IN ('Y', 'y'), 0 FROM p WHERE n LIKE '% %';
--x CREATE TEMP TABLE k AS SELECT q.id old,
--x   (SELECT min(id) FROM @people@ z WHERE z.email = q.email) new FROM @people@ q;
--x DELETE FROM k WHERE new IS NULL OR new = old;
--x UPDATE @people@ SET phone = coalesce(phone, (SELECT z.phone FROM k JOIN @people@ z ON z.id = k.old
--x   WHERE k.new = @people@.id AND z.phone IS NOT NULL ORDER BY z.id LIMIT 1)),
--x   active = max(active, (SELECT max(z.active) FROM k JOIN @people@ z ON z.id = k.old WHERE k.new = @people@.id))
--x   WHERE id IN (SELECT new FROM k);
--x UPDATE @moves@ SET @person@_id = (SELECT new FROM k WHERE old = @person@_id)
--x   WHERE @person@_id IN (SELECT old FROM k);
--x UPDATE aliases SET new_id = (SELECT new FROM k WHERE old = new_id) WHERE new_id IN (SELECT old FROM k);
--x INSERT INTO aliases SELECT old, new FROM k;
--x DELETE FROM @people@ WHERE id IN (SELECT old FROM k);
--x DELETE FROM other;
--x INSERT INTO other SELECT * FROM aliases;
CREATE TEMP TABLE m AS SELECT id, coalesce((SELECT new_id FROM other WHERE old_id = @person@_id), @person@_id) person,
  CASE WHEN @day@ GLOB '[0-9][0-9].[0-9][0-9].[0-9][0-9][0-9][0-9]'
    THEN substr(@day@, 7) || '-' || substr(@day@, 4, 2) || '-' || substr(@day@, 1, 2) END day,
  replace(coalesce(amount, ''), '.', '') a, nullif(lower(trim(@kind@)), '') kind, NULL reason FROM legacy_@moves@ l
  WHERE id NOT IN (SELECT id FROM @moves@)
  AND NOT EXISTS (SELECT 1 FROM gone WHERE source = 'legacy_@moves@' AND source_id = l.id);
UPDATE m SET reason = 'no_@person@' WHERE person IS NULL OR person NOT IN (SELECT id FROM @people@);
UPDATE m SET reason = 'bad_amount' WHERE NOT (a GLOB '*[0-9],[0-9][0-9]'
  AND ltrim(replace(a, ',', ''), '-') NOT GLOB '*[^0-9]*');
UPDATE m SET reason = 'bad_day' WHERE day IS NULL OR date(day, '+0 days') IS NOT day;
DELETE FROM quarantine WHERE source = 'legacy_@moves@' AND source_id IN (SELECT id FROM m);
INSERT INTO quarantine SELECT 'legacy_@moves@', id, reason FROM m WHERE reason IS NOT NULL;
INSERT OR IGNORE INTO @kind@_names (name) SELECT kind FROM m WHERE reason IS NULL AND kind IS NOT NULL;
INSERT INTO @moves@ SELECT id, person, day, cast(replace(a, ',', '') AS INTEGER),
  (SELECT id FROM @kind@_names WHERE name = kind) FROM m WHERE reason IS NULL;
UPDATE @people@ SET @balance@ = coalesce((SELECT sum(@cents@) FROM @moves@ WHERE @person@_id = @people@.id), 0);
CREATE INDEX IF NOT EXISTS @moves@_by_@person@ ON @moves@(@person@_id);
CREATE TRIGGER @moves@_added AFTER INSERT ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = (SELECT coalesce(sum(@cents@), 0) FROM @moves@ WHERE @person@_id = @people@.id)
  WHERE id = new.@person@_id; END;
CREATE TRIGGER @moves@_changed AFTER UPDATE ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = (SELECT coalesce(sum(@cents@), 0) FROM @moves@ WHERE @person@_id = @people@.id)
  WHERE id IN (new.@person@_id, old.@person@_id); END;
CREATE TRIGGER @moves@_removed AFTER DELETE ON @moves@ BEGIN
  UPDATE @people@ SET @balance@ = (SELECT coalesce(sum(@cents@), 0) FROM @moves@ WHERE @person@_id = @people@.id)
  WHERE id = old.@person@_id; END;
UPDATE migration SET state = 'done';
PRAGMA user_version = @VERSION@;
COMMIT;
SQL

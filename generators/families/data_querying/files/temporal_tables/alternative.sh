cd @folder@
db=$(mktemp)
sqlite3 "$db" ".import --csv @history@ h" ".import --csv @questions@ q"
sqlite3 "$db" <<'SQL'
@MEDIUM@ALTER TABLE q ADD known;
@MEDIUM@UPDATE q SET known = '9998';
CREATE TABLE w AS SELECT CAST(substr("@value@", 2) AS INTEGER) n, min(@recorded_at@) at
  FROM h WHERE "@value@" LIKE '!%' GROUP BY 1;
CREATE TABLE v AS SELECT CAST("@entry@" AS INTEGER) n, "@subject@" who, "@value@" val, @start_at@ a,
  CASE "@end@" WHEN '' THEN '9999' ELSE @end_at@ END b, @recorded_at@ at FROM h WHERE "@value@" NOT LIKE '!%';
DELETE FROM v WHERE a >= b;
CREATE TABLE p AS SELECT who, p, lead(p) OVER (PARTITION BY who ORDER BY p) z FROM
  (SELECT who, a p FROM v UNION SELECT who, b FROM v);
CREATE TABLE s AS SELECT who, p, z, 
  (SELECT val FROM v WHERE v.who = p.who AND a <= p AND b > p AND n NOT IN (SELECT n FROM w)
  ORDER BY at DESC, n DESC LIMIT 1) val FROM p WHERE z IS NOT NULL;
DELETE FROM s WHERE val IS NULL;
CREATE TABLE t AS SELECT who, min(p) a, max(z) b, val FROM (
  SELECT *, sum(fresh) OVER (PARTITION BY who ORDER BY p) island FROM (
    SELECT *, NOT (ifnull(lag(z) OVER x, '') = p AND ifnull(lag(val) OVER x, '') = val) fresh FROM s
    WINDOW x AS (PARTITION BY who ORDER BY p)))
  GROUP BY who, island;
SQL
{
  echo 'question,@value@'
  sqlite3 -csv "$db" "SELECT question, ifnull((SELECT val FROM v WHERE v.who = q.\"@subject@\"
    AND a <= @moment_at@ AND b > @moment_at@
    AND at <= @known_at@ AND n NOT IN (SELECT n FROM w WHERE at <= @known_at@) ORDER BY at DESC, n DESC LIMIT 1), '-')
    FROM q ORDER BY q.rowid" | tr -d '\r'
} > @answers@
{
  echo '@subject@,@start@,@end@,@value@'
  sqlite3 -csv "$db" "SELECT who, a, CASE b WHEN '9999' THEN NULL ELSE b END, val FROM t ORDER BY who, a" | tr -d '\r'
} > @timeline@
sqlite3 "$db" "SELECT json_object('periods', (SELECT count(*) FROM t),
  'open', (SELECT count(*) FROM t WHERE b = '9999'),
  'gaps', (SELECT count(*) FROM
  (SELECT a, lag(b) OVER (PARTITION BY who ORDER BY a) z FROM t) WHERE z < a))" > @summary@
rm -f "$db"

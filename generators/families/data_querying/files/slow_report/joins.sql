WITH t AS (SELECT @key@ AS k, count(*) AS cnt, sum(@value@) AS total FROM @fact@
  WHERE @state@ <> '@void@' GROUP BY 1),
u AS (SELECT @key@ AS k, count(DISTINCT @day@) AS days, avg(@value@) AS mean FROM @fact@ GROUP BY 1),
v AS (SELECT k, CAST(substr(max(tag), 11) AS INTEGER) AS latest FROM
  (SELECT @key@ AS k, printf('%10s%012d', coalesce(@day@, ''), id) AS tag FROM @fact@) GROUP BY k),
w AS (SELECT o.@key@ AS k, count(*) AS above FROM @fact@ o JOIN u ON u.k = o.@key@ WHERE o.@value@ > u.mean GROUP BY 1),
x AS (SELECT o.@key@ AS k, sum(r.@value@) AS part FROM @part@ r JOIN @fact@ o ON o.id = r.@fact@_id GROUP BY 1),
y AS (SELECT c.id AS k, c.@group@ AS g, t.total, row_number() OVER (ORDER BY c.@group@, t.total DESC) AS line
  FROM @owner@ c JOIN t ON t.k = c.id WHERE t.total IS NOT NULL AND c.@group@ IS NOT NULL),
z AS (SELECT g, min(line) AS line FROM y GROUP BY g),
q AS (SELECT g, total, min(line) AS line FROM y GROUP BY g, total)
SELECT c.id, c.name, ifnull(c.@group@, '(none)') AS @group@, ifnull(t.cnt, 0) AS @fact@, t.total AS total,
  v.latest AS latest, ifnull(u.days, 0) AS days@PICK@
FROM @owner@ c LEFT JOIN t ON t.k = c.id LEFT JOIN u ON u.k = c.id LEFT JOIN v ON v.k = c.id LEFT JOIN w ON w.k = c.id
  LEFT JOIN x ON x.k = c.id LEFT JOIN y ON y.k = c.id LEFT JOIN z ON z.g = y.g 
  LEFT JOIN q ON q.g = y.g AND q.total = y.total
WHERE c.id NOT IN (SELECT @key@ FROM @black@)
ORDER BY t.total DESC, c.id

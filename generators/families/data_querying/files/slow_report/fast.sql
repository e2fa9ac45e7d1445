WITH ordered AS (
  SELECT *, row_number() OVER (PARTITION BY @key@ ORDER BY @day@ DESC, id DESC) AS n,
    avg(@value@) OVER (PARTITION BY @key@) AS mean FROM @fact@ WHERE @key@ IS NOT NULL
), sums AS (
  SELECT @key@ AS k, count(*) FILTER (WHERE @state@ <> '@void@') AS cnt,
    sum(@value@) FILTER (WHERE @state@ <> '@void@') AS total, max(id) FILTER (WHERE n = 1) AS latest,
    count(DISTINCT @day@) AS days, count(*) FILTER (WHERE @value@ > mean) AS above
  FROM ordered GROUP BY @key@
), parts AS (
  SELECT o.@key@ AS k, sum(r.@value@) AS part FROM @part@ r JOIN @fact@ o ON o.id = r.@fact@_id GROUP BY o.@key@
), everyone AS (
  SELECT c.id, c.name, c.@group@ AS g, s.*, p.part,
    CASE WHEN c.@group@ IS NULL OR s.total IS NULL THEN 1
      ELSE rank() OVER (PARTITION BY c.@group@ ORDER BY s.total DESC) END AS place
  FROM @owner@ c LEFT JOIN sums s ON s.k = c.id LEFT JOIN parts p ON p.k = c.id
)
SELECT id, name, coalesce(g, '(none)') AS @group@, coalesce(cnt, 0) AS @fact@, total, latest,
  coalesce(days, 0) AS days@PICK@
FROM everyone WHERE id NOT IN (SELECT @key@ FROM @black@)
ORDER BY total DESC, id;

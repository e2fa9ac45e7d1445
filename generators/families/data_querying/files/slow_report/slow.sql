-- all @owner@ that are not @black@
SELECT c.id, c.name, coalesce(c.@group@, '(none)') AS @group@,
  (SELECT count(*) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@state@ <> '@void@') AS @fact@,
  (SELECT sum(o.@value@) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@state@ <> '@void@') AS total,
  (SELECT o.id FROM @fact@ o WHERE o.@key@ + 0 = c.id ORDER BY o.@day@ DESC, o.id DESC LIMIT 1) AS latest,
  (SELECT count(DISTINCT o.@day@) FROM @fact@ o WHERE o.@key@ + 0 = c.id) AS days@MORE@
FROM @owner@ c
WHERE c.id NOT IN (SELECT @key@ FROM @black@)
ORDER BY total DESC, c.id;

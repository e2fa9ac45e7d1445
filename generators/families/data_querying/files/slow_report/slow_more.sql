,
  (SELECT coalesce(sum(r.@value@), 0) FROM @part@ r JOIN @fact@ o ON o.id + 0 = r.@fact@_id
    WHERE o.@key@ + 0 = c.id) AS @part@,
  (SELECT count(*) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@value@ >
    (SELECT avg(p.@value@) FROM @fact@ p WHERE p.@key@ + 0 = o.@key@)) AS above_average,
  1 + (SELECT count(*) FROM @owner@ d WHERE d.@group@ = c.@group@ AND
    (SELECT sum(o.@value@) FROM @fact@ o WHERE o.@key@ + 0 = d.id AND o.@state@ <> '@void@') >
    (SELECT sum(o.@value@) FROM @fact@ o WHERE o.@key@ + 0 = c.id AND o.@state@ <> '@void@')) AS place

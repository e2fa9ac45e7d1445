cat > @PATH@ <<'SH'
#!/bin/bash
exec gawk -v scoring="$1" '
function sub2(x, y) {
  if (hasw && (x == ws || y == ws)) return wn
  if ((x, y) in pr) return pr[x, y]
  return x == y ? v["match"] : v["mismatch"]
}
function step(i, j, p,   k) {  # fills o[0..2], c[0..2]; returns the best
  best = "none"
  for (k = 0; k < 3; k++) has[k] = 0
  if (i < n && j < m) { has[0] = 1; o[0] = sub2(substr(a, i + 1, 1), substr(b, j + 1, 1)) + F[i + 1, j + 1, 0]; c[0] = C[i + 1, j + 1, 0] }
  if (i < n) { has[1] = 1; o[1] = F[i + 1, j, 1] - (fr && (j == 0 || j == m) ? 0 : e2 + (p == 1 ? 0 : o2)); c[1] = C[i + 1, j, 1] }
  if (j < m) { has[2] = 1; o[2] = F[i, j + 1, 2] - (fr && (i == 0 || i == n) ? 0 : e1 + (p == 2 ? 0 : o1)); c[2] = C[i, j + 1, 2] }
  for (k = 0; k < 3; k++) if (has[k] && (best == "none" || o[k] > best)) best = o[k]
  return best
}
BEGIN {
  while ((getline line < scoring) > 0) {
    if (line ~ /^#/ || split(line, w, " ") == 0) continue
    if (w[1] == "pair") { pr[w[2], w[3]] = w[4] + 0; pr[w[3], w[2]] = w[4] + 0 }
    else if (w[1] == "wild") { hasw = 1; ws = w[2]; wn = w[3] + 0 }
    else v[w[1]] = (w[1] == "ends") ? w[2] : w[2] + 0
  }
  o1 = ("open1" in v) ? v["open1"] : v["open"]; o2 = ("open2" in v) ? v["open2"] : v["open"]
  e1 = ("extend1" in v) ? v["extend1"] : v["extend"]; e2 = ("extend2" in v) ? v["extend2"] : v["extend"]
  fr = v["ends"] == "free"
}
NR % 2 == 1 { a = $1 }
NR % 2 == 0 {
  b = $1; n = length(a); m = length(b); top = low = ""
  for (i = n; i >= 0; i--) for (j = m; j >= 0; j--) for (p = 0; p < 3; p++) {
    if (i == n && j == m) { F[i, j, p] = 0; C[i, j, p] = 1; continue }
    x = step(i, j, p); t = 0
    for (k = 0; k < 3; k++) if (has[k] && o[k] == x) t = (t + c[k]) % 1000000007
    F[i, j, p] = x; C[i, j, p] = t
  }
  print "@K1@ " F[0, 0, 0]; print "@K2@ " C[0, 0, 0]
  i = j = p = 0
  while (i < n || j < m) {
    x = step(i, j, p)
    for (k = 0; !(has[k] && o[k] == x); k++);
    top = top (k == 2 ? "-" : substr(a, i + 1, 1)); low = low (k == 1 ? "-" : substr(b, j + 1, 1))
    i += k != 2; j += k != 1; p = k
  }
  print top; print low
}'
SH
chmod 755 @PATH@

cd {folder}
export TZ=UTC LC_ALL=C
work=$(mktemp -d)
# one table of all stamps: host, kind, epoch reading, rest
for host in $(tail -n +2 clocks.csv | cut -d, -f1 | sort -u); do
  for f in $host/auth.log*; do zcat -f "$f"; done | sed "s|^|$host\tauth\t|"
  cat $host/audit.log | sed "s|^|$host\taudit\t|"
  cat $host/access.log* 2>/dev/null | sed "s|^|$host\tweb\t|"
done > $work/all
gawk -F'\t' '
BEGIN {{ split("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", x, " "); for (i in x) mon[x[i]] = i
  while ((getline l < "clocks.csv") > 0) if (split(l, c, ",") == 3 && c[1] != "host") {{
    n++; H[n] = c[1]; S[n] = iso(c[2]); A[n] = c[3] }} }}
function iso(s) {{ gsub(/[-T:Z]/, " ", s); return mktime(s) }}
function fix(h, t,  i, best, a) {{ best = -1; for (i = 1; i <= n; i++)
  if (H[i] == h && S[i] <= t && S[i] > best) {{ best = S[i]; a = A[i] }} return t - a }}
$2 == "auth" {{ split(substr($3, 1, 15), p, /[ :]+/)
  t = mktime("{year} " mon[p[1]] " " p[2] " " p[3] " " p[4] " " p[5]) }}
$2 == "audit" {{ match($3, /audit\(([0-9]+)/, m); t = m[1] + 0 }}
$2 == "web" {{ match($3, /\[(..)\/(...)\/(....):(..):(..):(..) ([-+])(..)(..)\]/, m)
  t = mktime(m[3] " " mon[m[2]] " " m[1] " " m[4] " " m[5] " " m[6]) - (m[7] "1") * (m[8] * 3600 + m[9] * 60) }}
{{ print fix($1, t) "\t" $1 "\t" $2 "\t" $3 }}' $work/all | sort -n -s > $work/true
gawk -F'\t' -v OFS='\t' '
BEGIN {{ while ((getline l < "networks.txt") > 0) if (split(l, c, "/") == 2) {{
    k++; N[k] = num(c[1]); D[k] = 2 ^ (32 - c[2]) }}
  while ((getline l < "tests.csv") > 0) if (split(l, c, ",") == 3 && c[1] != "address") {{
    q++; P[q] = c[1]; F[q] = iso(c[2]); U[q] = iso(c[3]) }} }}
function iso(s) {{ gsub(/[-T:Z]/, " ", s); return mktime(s) }}
function num(s,  o) {{ split(s, o, "."); return ((o[1] * 256 + o[2]) * 256 + o[3]) * 256 + o[4] }}
function bad(ip, t,  i) {{ for (i = 1; i <= k; i++) if (int(num(ip) / D[i]) == int(N[i] / D[i])) return 0
  for (i = 1; i <= q; i++) if (P[i] == ip && F[i] <= t && t <= U[i]) return 0; return 1 }}
NR == FNR {{
  if ($3 == "auth" && match($4, /Accepted .* from ([0-9.]+) .*(SHA256:.*)/, m) && bad(m[1], $1)) key[m[2]] = 1; next }}
$3 == "auth" {{
  if (last[$2] && $1 - last[$2] > span) {{ span = $1 - last[$2]; where = $2; from = last[$2]; to = $1 }}
  last[$2] = $1
  if (match($4, /sshd\[([0-9]+)\]: Accepted [a-z]+ for ([^ ]+) from ([0-9.]+)/, m)) {{
    fp = match($4, /SHA256:.*/) ? substr($4, RSTART) : "-"
    if (bad(m[3], $1) || fp in key) {{ print $1, $2, "login", m[2]; mine[$2, m[1]] = 1 }} else delete mine[$2, m[1]]
  }} else if (match($4, /sshd\[([0-9]+)\]: session ([0-9]+) (opened|closed)/, m) && (($2, m[1]) in mine))
    {{ if (m[3] == "opened") live[$2, m[2]] = 1; else delete live[$2, m[2]] }}
}}
$3 == "audit" && / res=success$/ && match($4, /ses=([0-9]+) .* op=([a-z]+) name="([^"]*)"/, m) &&
  (($2, m[1]) in live) && m[3] ~ /^\/etc\/(cron\.d|systemd\/system|sudoers\.d)\/|\/authorized_keys$/ {{
  print $1, $2, (m[2] == "unlink" ? "remove" : "plant"), m[3] }}
$3 == "web" && match($4, /^([0-9.]+) .*"POST ([^ ]+) [^"]*" 2/, m) && m[2] == "{upload}" && bad(m[1], $1) {{
  print $1, $2, "upload", m[1] }}
END {{ print from, where, "silence", to }}' $work/true $work/true > $work/acts
jq -nR '[inputs | split("\t") | [(.[0] | tonumber), .[1], .[2], .[3]]] | (map(select(.[2] == "silence"))[0]) as $s
  | (map(select(.[2] != "silence")) | sort) as $a | ($a | map(select(.[2] == "upload"))[0]) as $f | {{
  "{a}": {{time: ($f[0] | todate), host: $f[1], address: $f[3]}},
  "{b}": ($a | map(select(.[2] == "login")[3]) | unique),
  "{c}": ([$a | map(select(.[2] == "plant" or .[2] == "remove")) | group_by([.[1], .[3]])[]
    | last | select(.[2] == "plant") | [.[1], .[3]]] | sort),
  "{d}": {{host: $s[1], start: ($s[0] | todate), end: ($s[3] | tonumber | todate)}},
  "{e}": ($a | map([(.[0] | todate), .[1], .[2], .[3]]))}}' $work/acts > {report}
rm -r $work

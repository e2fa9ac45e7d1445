cd @REPO@
base=$(git tag --merged HEAD | grep -E '^v[0-9]+\.[0-9]+\.[0-9]+$' | sort -V | tail -n 1)
git log --topo-order --format='%H%x1f%P%x1f%B%x1e' "$base..HEAD" > /tmp/log.$$
LC_ALL=C gawk -v base="$base" -v version_file=@VERSION@ -v titles='@PIPED@' -v style=@LINE@ '
BEGIN { RS = "\x1e"; FS = "\x1f"; split(titles, title, "|") }
FNR == NR { sub(/^\n+/, "", $1); if ($1) fresh[$1] = 1; next }
{
  sub(/^\n+/, "", $1)
  if ($1 == "" || $1 in gone || index($2, " ")) next
  n = split($3, line, "\n"); notice = ""; pull = ""; parts = 0
  for (i = 1; i <= n; i++) {
    if (match(line[i], /^This reverts commit [0-9a-f]+\.$/)) {
      target = substr(line[i], 21, 40)
      if (target in fresh) gone[target] = 1
      else { t = line[1]; sub(/^Revert "/, "", t); sub(/"$/, "", t); put(5, "", t); other = 1 }
      next
    }
    if (match(line[i], /^BREAKING[ -]CHANGE: */) && notice == "") notice = substr(line[i], RLENGTH + 1)
  }
  if (match(line[1], / \(#[0-9]+\)$/)) {
    pull = substr(line[1], RSTART)
    for (i = 2; i <= n; i++) if (substr(line[i], 1, 2) == "* ") parts += header(substr(line[i], 3), pull, notice)
  }
  if (!parts) header(line[1], "", notice)
}
function header(text, pull, notice,    m) {
  if (!match(text, /^(feat|fix|perf|docs|chore|refactor|test)(\(([^()]*)\))?(!?): (.+)$/, m)) return 0
  if (m[4] != "" || notice != "") { put(1, m[3], notice != "" ? notice : m[5] pull); broken = 1 }
  if (m[1] == "feat") { put(2, m[3], m[5] pull); feats = 1 }
  if (m[1] == "fix") put(3, m[3], m[5] pull)
  if (m[1] == "perf") put(4, m[3], m[5] pull)
  return 1
}
function put(section, scope, text) { rows[section][scope "\x01" text] = 1 }
END {
  split(substr(base, 2), v, ".")
  if (broken && v[1] > 0) next_version = (v[1] + 1) ".0.0"
  else if (broken || (feats && v[1] > 0)) next_version = v[1] "." (v[2] + 1) ".0"
  else next_version = v[1] "." v[2] "." (v[3] + 1)
  print next_version > version_file
  print "## " next_version
  for (section = 1; section <= 5; section++) if (section in rows) {
    print "### " title[section]
    count = asorti(rows[section], keys)
    for (i = 1; i <= count; i++) {
      split(keys[i], p, "\x01")
      mark = style == 1 ? "* " : "- "
      if (p[1] == "") print mark p[2]
      else if (style == 0) print mark "**" p[1] ":** " p[2]
      else if (style == 1) print mark p[2] " [" p[1] "]"
      else print mark p[1] ": " p[2]
    }
  }
}' /tmp/log.$$ /tmp/log.$$ > @NOTES@
rm -f /tmp/log.$$

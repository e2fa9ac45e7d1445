export LC_ALL=C
find {root} -mindepth 1 ! -type l -printf '%m\t%y\t/%P\n' | sort -t "$(printf '\t')" -k3,3 > /var/tmp/entries
gawk -v root={root} '
function under(p, top) {{ return p == top || index(p, top "/") == 1 }}
function ours(p,  i, best, mine) {{ best = -1
  for (i = 1; i <= s; i++) if (under(p, top[i]) && length(top[i]) > best) {{ best = length(top[i]); mine = own[i] }}
  return best >= 0 && mine }}
function octal(t) {{ return strtonum("0" t) }}
NR == FNR {{ if ($0 ~ /^#/ || NF == 0) next
  if ($1 == "{allow}") {{ if (NF < 5 || $5 >= "{today}") {{ n++; mode[n] = octal($2); path[n] = $3; pat[n] = $3
    gsub(/\./, "[.]", pat[n]); gsub(/\*/, "[^/]*", pat[n]) }} }}
  else {{ s++; top[s] = $2; own[s] = ($1 == "{managed}") }}
  next }}
{{ split($0, f, "\t"); p = f[3]; seen[p] = 1
  if (!ours(p)) next
  old = octal(f[1]); want = f[2] == "d" ? and(old, compl(octal("5002"))) : and(old, compl(octal("7002")))
  for (i = 1; i <= n; i++) if (p ~ ("^" pat[i] "$")) want = mode[i]
  if (want != old) printf "c\t%s\t%04o\t%04o\n", p, old, want }}
END {{ for (i = 1; i <= n; i++) if (path[i] !~ /\*/ && !(path[i] in seen) && ours(path[i])) printf "m\t%s\n", path[i] }}
' {manifest} /var/tmp/entries > /var/tmp/plan
grep '^c' /var/tmp/plan | while IFS="$(printf '\t')" read -r _ p old new; do chmod "0$new" "{root}$p"; done
# chmod with numbers keeps a directory's set-gid, so clear what is not wanted by letters too
grep '^c' /var/tmp/plan | while IFS="$(printf '\t')" read -r _ p old new; do
  case $new in 0*|1*|4*|5*) chmod g-s "{root}$p";; esac
  case $new in 0*|1*|2*|3*) chmod u-s "{root}$p";; esac
done
jq -nR '[inputs | split("\t")] as $r | {{
  "{changed}": ($r | map(select(.[0] == "c") | {{"{path}": .[1], "{was}": .[2], "{now}": .[3]}})),
  "{missing}": ($r | map(select(.[0] == "m")[1]) | sort)}}' /var/tmp/plan > {report}
rm /var/tmp/entries /var/tmp/plan

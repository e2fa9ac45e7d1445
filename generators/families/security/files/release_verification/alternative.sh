export LC_ALL=C
cd {base}
t=$(mktemp -d)
for m in {sums}/*; do
  case $m in *.sig) continue;; esac
  v=none
  while IFS=, read -r id file status; do
    [ "$id" = id ] && continue
    [ -f "$m.sig" ] && openssl dgst -sha256 -verify {ring}/$file -signature "$m.sig" "$m" > $t/out 2>&1 || continue
    if [ "$status" = current ]; then v=$id; elif [ $v = none ]; then v=revoked; fi
  done < {ring}/keyring.csv
  printf 'verdict\t%s\t%s\n' "${{m##*/}}" $v >> $t/rows
  case $v in none|revoked) continue;; esac
  case $m in
  *.json) jq -r '.files[] | .name as $n | .integrity | split("-") | "\(.[0])\t\($n)\t\(.[1])"' "$m" |
    while IFS="$(printf '\t')" read -r a n b; do
      printf '%s\t%s\t%s\n' $a "$n" $(echo "$b" | base64 -d | od -An -v -tx1 | tr -d ' \n')
    done;;
  *) tr -d '\r' < "$m" | gawk -v ext="${{m##*.}}" '/^#/ {{ next }}
    match($0, /^([A-Za-z0-9]+) \((.*)\) = (.*)$/, p) {{
      sub(/^\.\//, "", p[2]); print tolower(p[1]) "\t" p[2] "\t" tolower(p[3]); next }}
    match($0, /^([0-9A-Fa-f]+) [ *](.*)$/, p) {{ sub(/^\.\//, "", p[2]); print ext "\t" p[2] "\t" tolower(p[1]) }}';;
  esac | grep -E '^(sha256|sha512|blake2b)' | sed 's/^/entry\t/' >> $t/rows
done
for pair in sha256:sha256sum sha512:sha512sum blake2b:b2sum; do
  (cd {files} && ${{pair#*:}} -- *) | sed "s/^\([0-9a-f]*\)  \(.*\)$/have\t${{pair%%:*}}\t\2\t\1/" >> $t/rows
done
gawk -F'\t' -v OFS='\t' '
$1 == "verdict" {{ print "manifests", $2, $3 }}
$1 == "entry" {{ n++; A[n] = $2; N[n] = $3; D[n] = $4 }}
$1 == "have" {{ have[$3, $2] = $4; file[$3] = 1 }}
END {{ for (f in file) {{ mine = 0; bad = 0; proper = ""
    for (i = 1; i <= n; i++) {{ same = have[f, A[i]] == D[i]
      if (N[i] == f) {{ mine++; if (!same) bad++ }}
      else if (same && !(N[i] in file) && (proper == "" || N[i] < proper)) proper = N[i] }}
    if (mine) print (bad ? "altered" : "good"), f
    else if (proper != "") {{ print "renamed", f, proper; taken[proper] = 1 }}
    else print "unverified", f }}
  for (i = 1; i <= n; i++) if (!(N[i] in file) && !(N[i] in taken)) print "missing", N[i] }}' $t/rows | sort -u > $t/result
jq -nR '[inputs | split("\t")] as $r | def names($k): $r | map(select(.[0] == $k)[1]) | sort;
  def map2($k): $r | map(select(.[0] == $k) | {{(.[1]): .[2]}}) | add // {{}};
  {{"{manifests}": map2("manifests"), "{good}": names("good"), "{altered}": names("altered"),
    "{renamed}": map2("renamed"),
    "{unverified}": names("unverified"), "{missing}": names("missing")}}' $t/result > {report}
gawk -F'\t' '$1 == "altered" || $1 == "unverified" {{ print $2 }}' $t/result |
  while read -r f; do mv "{files}/$f" {held}/; done
gawk -F'\t' '$1 == "renamed" {{ print $2 "\t" $3 }}' $t/result |
  while IFS="$(printf '\t')" read -r a b; do mv "{files}/$a" "{files}/$b"; done
rm -r $t

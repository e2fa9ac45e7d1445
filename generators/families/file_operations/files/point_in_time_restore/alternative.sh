
set -f; cd '@REPOSITORY@'; w=$(mktemp -d); change=$(date -u -d '@CHANGE@' +%s)
set -- @KEYS@; id=$1; parent=$3; taken=$4; state=$6
case @INFO@ in
  *.json) ls | sed 's#$#/@INFO@#' | xargs jq -r --arg a "$id" --arg b "$taken" --arg c "$state" \
    --arg d "$parent" '"\(input_filename | split("/")[0]) \(.[$a]) \(.[$b]) \(.[$c]) \(.[$d])"' ;;
  *) for folder in $(ls); do awk -v f="$folder" -v a="$id" -v b="$taken" -v c="$state" -v d="$parent" '{ v[$1] = $3 }
    END { print f, v[a], v[b], v[c], v[d] }' "$folder/@INFO@"; done ;;
esac > "$w/facts"
instants() {  # times on standard input to seconds
  sed -E 's/^(.*(Z|[+-][0-9]{2}:[0-9]{2}))$/\1 zone/; /zone$/!s/$/Z local/' > "$w/times"
  cut -d' ' -f1 "$w/times" | date -u -f - +%s | paste -d' ' - "$w/times" |
    awk -v c="$change" '{ s = $1; if ($3 == "local") { s -= 3600; if (s >= c) s -= 3600 } print s }'
}
moment=$(echo '@MOMENT@' | instants)
cut -d' ' -f3 "$w/facts" | instants | paste -d' ' - "$w/facts" > "$w/timed"
for folder in $(ls); do sed "s#^\([0-9a-f]*\)  #\1  $folder/@DATA@/#" "$folder/@SUMS@"; done > "$w/sums"
sha256sum --quiet -c "$w/sums" 2>/dev/null | cut -d/ -f1 > "$w/spoilt"
awk -v fine='@FINE@' 'NR == FNR { bad[$1] = 1; next } { print $3, $2, $1, ($5 == fine && !($2 in bad)) ? 1 : 0, $6 }' \
  "$w/spoilt" "$w/timed" > "$w/sets"
[ -s "$w/spoilt" ] || exit 1
awk '{ folder[$1] = $2; at[$1] = $3; own[$1] = $4; up[$1] = $5 }
  END { for (n in at) { line = n; good = own[n]; m = n
    while (up[m] != "") { m = up[m]; line = m " " line; if (!(m in own) || !own[m]) good = 0; if (!(m in own)) break }
    print at[n], n, good, line } }' "$w/sets" | sort -n > "$w/chains"
awk -v t="$moment" '$3 && $1 <= t' "$w/chains" > "$w/before"
chosen=$(tail -1 "$w/before" | cut -d' ' -f2)
line=$(tail -1 "$w/before" | cut -d' ' -f4-)
since=$(tail -1 "$w/before" | cut -d' ' -f1)
mkdir -p '@TARGET@'
for name in $line; do
  folder=$(awk -v n="$name" '$1 == n { print $2 }' "$w/sets")
  [ -f "$folder/@GONE@" ] && sed 's#^#@TARGET@/#' "$folder/@GONE@" | tr '\n' '\0' | xargs -0 rm -rf
  [ -d "$folder/@DATA@" ] && cp -r "$folder/@DATA@/." '@TARGET@/'
done
applied=0
if [ -n '@LOG@' ]; then
  set -- @FIELDS@
  set +f; cat '@LOG@'/* | sort -u > "$w/entries"; set -f
  jq -r --arg t "$2" '.[$t]' "$w/entries" | instants > "$w/at"
  jq -r --arg n "$1" '.[$n]' "$w/entries" | paste -d' ' "$w/at" - "$w/entries" | sort -s -n -k1,1 -k2,2 |
    awk -v a="$since" -v b="$moment" '$1 > a && $1 <= b' > "$w/todo"
  applied=$(wc -l < "$w/todo")
  cut -d' ' -f3- "$w/todo" | perl -MJSON::PP -MFile::Path=make_path,remove_tree -e '
    my ($target, $verb, $path, $text, $put) = @ARGV;
    while (<STDIN>) {
      my $e = JSON::PP->new->utf8->decode($_); my $full = "$target/$e->{$path}";
      if ($e->{$verb} eq $put) {
        make_path($full =~ s{/[^/]*$}{}r);
        open my $out, ">", $full; print $out $e->{$text};
      } elsif (-d $full) { remove_tree($full) } else { unlink $full }
    }' '@TARGET@' "$3" "$4" "$5" '@PUT@'
fi
find '@TARGET@' -type d -empty -delete
cut -d' ' -f1 "$w/before" | sed 's/^/@/' | date -u -f - +%F > "$w/days"
cut -d' ' -f4- "$w/before" | paste -d' ' "$w/days" - |
  awk '{ day = $1; $1 = ""; last[day] = $0 } END { for (d in last) print d last[d] }' |
  sort | tail -n @DAYS@ | cut -d' ' -f2- | tr ' ' '\n' | sort -u > "$w/kept"
list() { awk 'BEGIN { printf "[" } { printf "%s\"%s\"", n++ ? "," : "", $1 } END { print "]" }'; }
spare=$(awk -v t="$moment" '$1 <= t { print $2 }' "$w/chains" | sort | comm -23 - "$w/kept" | sort | list)
set -- @ANSWERS@
jq -n --arg s "$chosen" --argjson c "$(echo "$line" | tr ' ' '\n' | list)" --argjson e "$spare" --argjson n "$applied" \
  --argjson u "$(awk '!$3 { print $2 }' "$w/chains" | sort | list)" --arg a0 "$1" --arg a1 "$2" --arg a2 "$3" --arg a3 "$4" --arg a4 "$5" \
  '{($a0): $s, ($a1): $c, ($a2): $u, ($a3): $e, ($a4): $n}' > '@REPORT@'

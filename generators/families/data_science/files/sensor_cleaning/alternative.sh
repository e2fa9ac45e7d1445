cd @FOLDER@
for f in clocks changes; do if [ -f $f.csv ]; then cp $f.csv /tmp/$f.csv; else echo > /tmp/$f.csv; fi; done
TZ=UTC gawk -F, -v STEP=@STEP@ -v N=@SLOTS@ -v K=@STUCK@ -v G=@GAP@ \
  -v LO=@LOW@ -v HI=@HIGH@ -v J=@JUMP@ -v KEYS="@KEYS@" '
function secs(t) { gsub(/[-T:Z]/, " ", t); return mktime(t) }
{ sub(/\r$/, "") }
FNR == 1 { part++; next }
part == 1 { ahead[$1] = $2; next }
part == 2 { n[$1]++; at[$1, n[$1]] = secs($2); to[$1, n[$1]] = $3; next }
{ s = secs($2) - secs("@FIRST@") - ahead[$1]; i = int((s + STEP * 30) / (STEP * 60))
  known[$1]; if (($1, i) in raw) again[$1]++; raw[$1, i] = $3; unit[$1, i] = $4 }
END {
  print "@D@,slot,value,status" > "clean.csv"; printf "{" > "faults.json"
  m = asorti(known, order)
  for (o = 1; o <= m; o++) {
    d = order[o]; delete x; delete c; split("", run); filled = empty = total = count = 0
    c["stuck"] = c["range"] = c["spike"] = 0
    for (i = 0; i < N; i++) if (raw[d, i] == "-999.00") raw[d, i] = ""
    for (i = 0; i < N; i++) run[i] = (i && raw[d, i] != "" && raw[d, i] "" == raw[d, i - 1] "") ? run[i - 1] + 1 : 1
    for (i = N - 2; i >= 0; i--) if (raw[d, i] != "" && raw[d, i] "" == raw[d, i + 1] "") run[i] = run[i + 1]
    for (i = 0; i < N; i++) if (raw[d, i] != "") {
      if (run[i] >= K) { c["stuck"]++; continue }
      u = unit[d, i]; t = secs("@FIRST@") + i * STEP * 60; best = -1
      for (q = 1; q <= n[d]; q++) if (at[d, q] <= t && at[d, q] > best) { best = at[d, q]; u = to[d, q] }
      v = raw[d, i] + 0; if (u == "@OTH@") v = (v - @SHIFT@) * @FACTOR@
      if (v < LO || v > HI) c["range"]++; else x[i] = v
    }
    split("", bad)
    for (i = 1; i < N - 1; i++) if (J && (i in x) && (i - 1 in x) && (i + 1 in x)) {
      a = x[i] - x[i - 1]; b = x[i] - x[i + 1]
      if ((a > J && b > J) || (a < -J && b < -J)) bad[i]
    }
    for (i in bad) { delete x[i]; c["spike"]++ }
    last = -1
    for (i = 0; i < N; i++) {
      if (i in x) { last = i; v = x[i]; s = "ok" } else {
        for (e = i; e < N && !(e in x); e++);
        if (last >= 0 && e < N && e - last - 1 <= G) {
          v = x[last] + (x[e] - x[last]) * (i - last) / (e - last); s = "filled"; filled++
        } else { s = "empty"; empty++ }
      }
      if (s != "empty") { total += v; count++ }
      t = strftime("%Y-%m-%dT%H:%M:%SZ", secs("@FIRST@") + i * STEP * 60, 1)
      printf "%s,%s,%s,%s\n", d, t, (s == "empty" ? "" : sprintf("%.3f", v)), s > "clean.csv"
    }
    printf "%s\"%s\": {\"resent\": %d", (o > 1 ? ", " : ""), d, again[d] > "faults.json"
    w = split(KEYS, key, " "); for (q = 1; q <= w; q++) printf ", \"%s\": %d", key[q], c[key[q]] > "faults.json"
    printf ", \"filled\": %d, \"empty\": %d, \"mean\": %.4f}", filled, empty, total / count > "faults.json"
  }
  print "}" > "faults.json"
}' /tmp/clocks.csv /tmp/changes.csv @SOURCE@

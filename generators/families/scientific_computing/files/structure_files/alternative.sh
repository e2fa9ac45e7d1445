cd @FOLDER@
echo file,chain,residues,atoms,breaks,mean_b,radius > @TABLE@
[ @DEEP@ = 1 ] && echo file,chain1,residue1,chain2,residue2,distance > @PAIRS@
for f in *.@ENDING@; do
  best=$(grep -m1 '^MODEL' "$f" | awk '{print $2}')
  named=$(grep '^REMARK BEST MODEL' "$f" | awk '{print $4}')
  [ @DEEP@ = 1 ] && [ -n "$named" ] && best=$named
  gawk -v file="$f" -v best="$best" -v deep=@DEEP@ '
  /^MODEL/ { now = $2; next }
  /^ENDMDL/ { now = ""; next }
  best != "" && now != best { next }
  /^ATOM  / || (deep && /^HETATM/ && substr($0, 18, 3) == "MSE") {
    c = substr($0, 22, 1); r = substr($0, 23, 5); gsub(/ /, "", r); a = substr($0, 13, 4); k = c SUBSEP r SUBSEP a
    o = substr($0, 55, 6) + 0; alt = substr($0, 17, 1)
    if (!((c, r) in seen)) { seen[c, r]; n[c]++; name[c, n[c]] = r; chain[c] }
    if (!(k in occ)) { m[c, r]++; atom[c, r, m[c, r]] = k }
    else if (o < occ[k] || (o == occ[k] && alt > al[k])) next
    occ[k] = o; al[k] = alt; x[k] = substr($0, 31, 8) + 0; y[k] = substr($0, 39, 8) + 0; z[k] = substr($0, 47, 8) + 0
    b[k] = substr($0, 61, 6) + 0
  }
  function d2(p, q) { return (x[p] - x[q]) ^ 2 + (y[p] - y[q]) ^ 2 + (z[p] - z[q]) ^ 2 }
  END {
    w = asorti(chain, order)
    for (q = 1; q <= w; q++) {
      c = order[q]; t = sx = sy = sz = sb = ss = br = 0
      for (i = 1; i <= n[c]; i++) for (j = 1; j <= m[c, name[c, i]]; j++) {
        k = atom[c, name[c, i], j]; t++; sx += x[k]; sy += y[k]; sz += z[k]; sb += b[k]
      }
      for (i = 1; i <= n[c]; i++) for (j = 1; j <= m[c, name[c, i]]; j++) {
        k = atom[c, name[c, i], j]; ss += (x[k] - sx / t) ^ 2 + (y[k] - sy / t) ^ 2 + (z[k] - sz / t) ^ 2
      }
      for (i = 2; i <= n[c]; i++)
        br += d2(c SUBSEP name[c, i] SUBSEP " CA ", c SUBSEP name[c, i - 1] SUBSEP " CA ") > @LIMIT@ ^ 2
      printf "%s,%s,%d,%d,%d,%.3f,%.3f\n", file, c, n[c], t, br, sb / t, sqrt(ss / t) >> "@TABLE@"
      for (p = q + 1; p <= w && deep; p++) for (i = 1; i <= n[c]; i++) for (j = 1; j <= n[order[p]]; j++) {
        r = name[c, i]; s = name[order[p], j]; low = 1e9
        for (u = 1; u <= m[c, r]; u++) for (v = 1; v <= m[order[p], s]; v++) {
          e = d2(atom[c, r, u], atom[order[p], s, v]); if (e < low) low = e
        }
        if (low <= @REACH@ ^ 2) printf "%s,%s,%s,%s,%s,%.3f\n", file, c, r, order[p], s, sqrt(low) >> "@PAIRS@"
      }
    }
  }' "$f"
done

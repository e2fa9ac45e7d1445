cd @FOLDER@ && mkdir -p out && gawk '
function snake(name) { return substr(tolower(name), 1, 1) tolower(gensub(/([A-Z])/, "_\\1", "g", substr(name, 2))) }
function list(text, set,    n, a, i) { n = split(text, a, " "); for (i = 1; i <= n; i++) set[a[i]] = 1 }
function quoted(name) { return name in sqlword ? "\"" name "\"" : name }
function write_struct(s,    i, n, f, k, c, d, t, first, last) {
  written[s] = 1
  n = count[s]
  print "struct " snake(s) " {" > H
  for (i = 1; i <= n; i++) {
    f = name[s, i]; k = kind[s, i]; c = f (f in cword ? "_" : "")
    if (opt[s, i]) print "    bool has_" f ";" > H
    if (k == "text") print "    char " c "[" (size[s, i] + 1) "];" > H
    else print "    " (k in ctype ? ctype[k] : (k in members ? "enum " : "struct ") snake(k)) " " c ";" > H
  }
  print "};" > H
  print "@dataclass\nclass " s ":" > P
  for (i = 1; i <= n; i++) {
    f = name[s, i]; k = kind[s, i]; d = def[s, i]
    if (d != "")
      print "#define " toupper(snake(s) "_" f) "_DEFAULT " (k in members ? toupper(snake(k) "_" d) : d) > H
    t = k == "text" ? "str" : k == "f64" ? "float" : k == "bool" ? "bool" : "int"
    t = "    " f (f in pyword ? "_" : "") ": " (k in members || k in count ? k : t)
    if (opt[s, i]) t = t " | None"
    if (k in members && d != "") d = k "." toupper(d)
    if (k == "bool") d = d == "true" ? "True" : d == "false" ? "False" : ""
    if (d == "" && opt[s, i]) d = "None"
    if (d == "") first = first t "\n"; else last = last t " = " d "\n"
  }
  printf "%s%s", first, last > P
  rows = ""; columns(s, "")
  t = ""
  for (i = 1; i <= n; i++) if (key[s, i]) t = t (t == "" ? "" : ", ") quoted(name[s, i])
  if (t != "") rows = rows "    PRIMARY KEY (" t "),\n"
  print "CREATE TABLE " quoted(snake(s)) " (\n" substr(rows, 1, length(rows) - 2) "\n);" > S
}
function columns(s, prefix,    i, k, d, t, c) {
  for (i = 1; i <= count[s]; i++) {
    k = kind[s, i]; d = def[s, i]
    if (k in count) { columns(k, prefix name[s, i] "_"); continue }
    c = quoted(prefix name[s, i])
    t = k == "text" ? "VARCHAR(" size[s, i] ")" : k in sqltype ? sqltype[k] : "INTEGER"
    t = "    " c " " t (opt[s, i] ? "" : " NOT NULL")
    if (k == "text" && d != "") {
      d = gensub(/\\(.)/, "\\1", "g", substr(d, 2, length(d) - 2)); gsub(/\x27/, "&&", d); d = "\x27" d "\x27"
    }
    if (k == "bool") d = toupper(d)
    if (k in members && d != "") d = value[k, d]
    if (d != "") t = t " DEFAULT " d
    if (k in members) t = t " CHECK (" c " IN (" members[k] "))"
    rows = rows t ",\n"
  }
}
BEGIN {
  H = "@H@"; P = "@P@"; S = "@S@"
  list("@CW@", cword); list("@PW@", pyword); list("@SW@", sqlword)
  n = split("u8 uint8_t u16 uint16_t u32 uint32_t i32 int32_t i64 int64_t f64 double bool bool", a, " ")
  for (i = 1; i < n; i += 2) ctype[a[i]] = a[i + 1]
  n = split("@TYPEWORDS@", a, ","); for (i = 1; i <= n; i++) { split(a[i], b, ":"); sqltype[b[1]] = b[2] }
  print "#ifndef @GUARD@\n#define @GUARD@\n#include <stdbool.h>\n#include <stdint.h>" > H
  print "from dataclasses import dataclass\nfrom enum import IntEnum" > P
}
{
  match($0, /^([^"#]|"([^"\\]|\\.)*")*/); line = substr($0, 1, RLENGTH)
  gsub(/^[ \t]+|[ \t]+$/, "", line)
  if (line == "") next
  split(line, w, " ")
  if (here == "" && w[1] == "@CHOICE@") {
    e = substr(w[2], 1, length(w[2]) - 1); v = -1; sub(/^[^:]*:/, "", line); gsub(/ /, "", line)
    n = split(line, a, ","); print "enum " snake(e) " {" > H; print "class " e "(IntEnum):" > P
    for (i = 1; i <= n; i++) {
      v = split(a[i], b, "=") > 1 ? b[2] + 0 : v + 1
      value[e, b[1]] = v; members[e] = members[e] (i > 1 ? ", " : "") v
      print "    " toupper(snake(e) "_" b[1]) " = " v (i < n ? "," : "") > H
      print "    " toupper(b[1]) " = " v > P
    }
    print "};" > H
  } else if (here == "") { here = w[2]; order[++total] = here; count[here] = 0 }
  else if (line == "end") here = ""
  else {
    i = ++count[here]; name[here, i] = w[1]; k = w[2]
    if (k ~ /\?$/) { opt[here, i] = 1; sub(/\?$/, "", k) }
    if (match(k, /\(.*\)/)) { size[here, i] = substr(k, RSTART + 1, RLENGTH - 2) + 0; k = "text" }
    kind[here, i] = k
    if (match(line, / = /)) {
      d = substr(line, RSTART + 3)
      match(d, substr(d, 1, 1) == "\"" ? "^\"([^\"\\\\]|\\\\.)*\"" : "^[^ ]+"); def[here, i] = substr(d, 1, RLENGTH)
      line = substr(d, RLENGTH + 1)
    } else sub(/^[^ ]+ [^ ]+/, "", line)
    if (line == " @KEY@") key[here, i] = 1
  }
}
END {
  for (done = 0; done < total; done++)
    for (i = 1; i <= total; i++) {
      s = order[i]
      if (s in written) continue
      ready = 1
      for (j = 1; j <= count[s]; j++) if (kind[s, j] in count && !(kind[s, j] in written)) ready = 0
      if (ready) { write_struct(s); break }
    }
  print "#endif" > H
}' @SOURCE@

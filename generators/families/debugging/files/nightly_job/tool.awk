#!/usr/bin/awk -f
# epoch|name|cents in, one line per local day and name out; amounts below the minimum do not count
BEGIN { FS = "|" }
$3 >= minimum { total[strftime("%Y-%m-%d", $1) SUBSEP $2] += $3 }
END {
    for (key in total) {
        split(key, part, SUBSEP)
        printf "%s %-14s %10.2f\n", part[1], part[2], total[key] / 100
    }
}

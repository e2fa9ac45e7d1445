cd @FOLDER@
db=$(mktemp)
sqlite3 "$db" ".mode csv" ".import statement.csv s" ".import books.csv b" \
  "alter table s add a; update s set a=cast(replace(replace(amount,',',''),'.','') as integer),
   booked=substr(booked,7,4)||'-'||substr(booked,4,2)||'-'||substr(booked,1,2);" "create table m(l,e);"
sqlite3 "$db" "select line,booked,a,batch from s order by booked,line" | while IFS='|' read -r l d a t; do
  if [ -n "$t" ]; then
    sqlite3 "$db" "insert into m select '$l',entry from b where batch='$t' and
      (select sum(cast(minor as integer)) from b where batch='$t')=$a;"
  else
    sqlite3 "$db" "insert into m select '$l',entry from b where batch='' and cast(minor as integer)=$a
      and abs(julianday(date)-julianday('$d'))<=@WINDOW@ and entry not in (select e from m)
      order by abs(julianday(date)-julianday('$d')),entry limit 1;"
  fi
done
sqlite3 "$db" "select json_object(
 'matched',(select json_group_object(l,json(es)) from (select l,json_group_array(e) es from (select * from m order by e) group by l)),
 'unmatched_statement',(select json_group_array(line) from (select line from s where line not in (select l from m) order by line)),
 'unmatched_books',(select json_group_array(entry) from (select entry from b where entry not in (select e from m) order by entry)),
 'difference',(select coalesce(sum(a),0) from s where line not in (select l from m))
   -(select coalesce(sum(cast(minor as integer)),0) from b where entry not in (select e from m)))" > report.json
rm -f "$db"

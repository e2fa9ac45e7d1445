cd @FOLDER@
db=$(mktemp)
q() { sqlite3 "$db" "$@"; }
if [ -f prior.csv ]; then cp prior.csv /tmp/prior.csv; else echo '@UNIT@,spent' > /tmp/prior.csv; fi
q ".mode csv" ".import @ASSIGNED@ a" ".import @EVENTS@ e0" ".import /tmp/prior.csv p"
q <<'SQL'
create table e as select "@UNIT@" u, unixepoch(at) t, event k, cast(round(100*amount) as integer) c
  from e0 group by id;
create table un as select "@UNIT@" u, min(unixepoch(assigned_at)) t, min(arm) arm, count(distinct arm) n,
  min("@GROUP@") g from a group by 1;
create table bot as select distinct u from (select u from e group by u, t/3600 having count(*) > @BOT@)
  where u in (select u from un where n = 1);
create table l as select * from un where n = 1 and u not in bot;
create table r as select g, s, s > @LIMIT@ m from (select g, (x-e)*(x-e)/e + (e-x)*(e-x)/(n-e) s from
  (select g, x, n, n*(1-@SHARE@/100.0) e from
  (select case when @DEEP@ then g end g, sum(arm='@CONTROL@') x, count(*) n from l group by 1)));
create table k as select * from l where not (@DEEP@ and g in (select g from r where m));
create table y as select k.u, k.arm, coalesce(sum(e.k='@GOAL@'),0) > 0 yes,
  min(@CAP@, max(0, coalesce(sum(case when e.k='@GOAL@' then c when @DEEP@ and e.k='@UNDO@' then -c end),0)/100.0)) y,
  coalesce((select cast(spent as real) from p where "@UNIT@"=k.u),0) x
  from k left join e on e.u=k.u and e.t >= k.t+3600*@NOVELTY@ and e.t < k.t+86400*@DAYS@ group by k.u;
create table s as select arm, count(*) n, sum(yes) c, avg(y) y, avg(x) x from y group by arm;
create table f as select n1, n2, 1.0*c1/n1 p1, 1.0*c2/n2 p2, 1.0*(c1+c2)/(n1+n2) p, y2-y1 dy, x2-x1 dx from
  (select n n1, c c1, y y1, x x1 from s where arm='@CONTROL@'),
  (select n n2, c c2, y y2, x x2 from s where arm='@TREATMENT@');
create table z as select p2-p1 lift, (p2-p1)/sqrt(p*(1-p)*(1.0/n1+1.0/n2)) z,
  dy - dx*(select avg((x-mx)*(y-my))/nullif(avg((x-mx)*(x-mx)),0) from y,
  (select avg(x) mx, avg(y) my from y)) adj from f;
SQL
q "select json_patch(json_object(
 'excluded', json_patch(
    json_object('crossed',(select count(*) from un where n>1),'bots',(select count(*) from bot)),
    case when @DEEP@ then json_object('@GROUP@',(select count(*) from l)-(select count(*) from k)) else '{}' end),
 'arms', (select json_group_object(arm,json_object('units',n,'converted',c,'mean',y)) from s),
 'ratio', json((select case when @DEEP@ then json_group_object(g,json(o)) else o end from
    (select g, json_object('statistic',s,'mismatch',json(iif(m,'true','false'))) o from r))),
 'lift', lift, 'z', z, 'decision', case when not @DEEP@ and (select max(m) from r) then 'invalid'
    when z>=@CRITICAL@ then 'ship' when z<=-@CRITICAL@ then 'stop' else 'inconclusive' end),
 case when @DEEP@ then json_object('adjusted',adj) else '{}' end) from z" > readout.json
rm -f "$db"

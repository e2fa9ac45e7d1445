cd @F@ && cat > /tmp/boot.pl <<'PL'
use strict; my (%v, %start, %pull, @e); my %list = map { ($_ => 1) } qw(After Before Wants Requires);
sub parts { my $n = shift; ("units/$n", sort glob("units/$n.d/*.conf")) }
for my $n (map { s{units/}{}r } grep { !-d and !-l } glob("units/*")) { $v{$n} = {};
  for my $p (parts($n)) { open my $f, "<", $p; while (<$f>) { next unless /^([\w-]+)\s*=\s*(.*?)\s*$/; my ($k, $x) = ($1, $2);
    if ($x eq "") { $v{$n}{$k} = []; next } push @{$v{$n}{$k}}, $list{$k} ? split(" ", $x) : $x } } }
for my $n (keys %v) { push @{$pull{$n}}, @{$v{$n}{Wants} || []}, @{$v{$n}{Requires} || []};
  push @{$pull{$_}}, $n for @{$v{$n}{WantedBy} || []} }
my @todo = ("@T@.target"); while (@todo) { my $n = shift @todo; next if !$v{$n} or $start{$n}++ or $n =~ /timer$/;
  push @todo, @{$pull{$n} || []} } delete @start{grep { !$v{$_} or /timer$/ } keys %start};
for my $n (keys %start) { for my $k (qw(After Before)) { my %s;
  push @e, [$n, $k, $_] for grep { $start{$_} and $_ ne $n and !$s{$_}++ } @{$v{$n}{$k} || []} } }
sub ends { my $e = shift; $e->[1] eq "After" ? @$e[2, 0] : @$e[0, 2] }
sub closure { my %r; for (@e) { my ($a, $b) = ends($_); $r{$a}{$b} = 1 }
  for my $k (keys %start) { for my $i (keys %start) { next unless $r{$i}{$k}; $r{$i}{$_} = 1 for keys %{$r{$k}} } } \%r }
sub prio { my $x = $v{$_[0]}{"@K@"}; $x ? $x->[-1] : 50 }
while (1) { my $r = closure(); my @bad = grep { my ($a, $b) = ends($_); $r->{$b}{$a} } @e; last unless @bad;
  my ($x) = sort { prio($a->[0]) <=> prio($b->[0]) or $a->[0] cmp $b->[0] or $a->[2] cmp $b->[2] } @bad;
  @e = grep { $_ != $x } @e; my ($n, $k, $o) = @$x;
  for my $p (parts($n)) { open my $f, "<", $p; my @l = <$f>; close $f; my @out;
    for (@l) { if (/^$k\s*=\s*\S/) { my ($h, $t) = split /=/, $_, 2; my @w = grep { $_ ne $o } split " ", $t;
      next unless @w; $_ = "$h=@w\n" } push @out, $_ }
    open $f, ">", $p; print $f @out } }
my %need; for (@e) { my ($a, $b) = ends($_); $need{$b}{$a} = 1 } open my $f, ">", "@O@"; my %left = %start;
while (%left) { my ($n) = sort grep { my $u = $_; !grep { $left{$_} } keys %{$need{$u} || {}} } keys %left;
  print $f "$n\n"; delete $left{$n} } close $f;
my %d = (Sun => 0, Mon => 1, Tue => 2, Wed => 3, Thu => 4, Fri => 5, Sat => 6);
my %short = (hourly => "*-*-* *:00", daily => "*-*-* 00:00", weekly => "Mon *-*-* 00:00", monthly => "*-*-01 00:00");
open $f, ">", "@C@"; for my $t (sort grep { /timer$/ } keys %v) { (my $s = $t) =~ s/timer$/service/; $s = $v{$t}{Unit}[-1] if $v{$t}{Unit};
  for (@{$v{$t}{OnCalendar}}) { my $w = $short{$_} || $_; my $week = "*"; $week = $1 if $w =~ s/^([A-Z]\S+)\s+//;
    $week =~ s/([A-Z][a-z]+)/$d{$1}/g; my ($mon, $day) = $w =~ /^\S+?-(\S+)-(\S+)\s/ ? ($1, $2) : ("*", "*");
    my ($h, $m) = $w =~ /(\S+?):([^:\s]+)(?::00)?$/; my @f = ($m, $h, $day, $mon, $week);
    for (@f) { s/\.\./-/g; s{^0+/}{*/}; s{^(\d+)/}{$1-59/}; s/\b0+(?=\d)//g } print $f "@f $v{$s}{ExecStart}[-1]\n" } }
PL
perl /tmp/boot.pl; rm -f /tmp/boot.pl

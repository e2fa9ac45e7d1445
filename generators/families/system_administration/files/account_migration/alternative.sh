cd @F@ && mkdir -p @O@ && cat > /tmp/union.pl <<'PL'
use strict; my ($A, $B, $X, $S) = ("@A@", "@B@", "@X@", @S@);
sub slurp { open my $f, "<", shift or return (); my @l = <$f>; chomp @l; @l }
sub rows { map { [split /:/, $_, -1] } grep { length } slurp(shift) }
my %n; for my $h ($A, $B) { for my $k (qw(passwd group shadow)) { $n{$h}{$k} = [rows("$h/$k")] } }
my @r = map { s/#.*//; /(\d+)(?:-(\d+))?/ ? [$1, $2 || $1] : () } slurp("@R@");
my %sep = map { ($_ => 1) } slurp("separate.txt");
sub blocked { my $v = shift; for (@r) { return 1 if $v >= $_->[0] && $v <= $_->[1] } 0 }
my (%ina, %used); for my $k (qw(passwd group)) { $ina{$k}{$_->[2]} = 1 for @{$n{$A}{$k}};
  $used{$k}{$_->[2]} = 1 for @{$n{$A}{$k}}, @{$n{$B}{$k}} }
sub number { my ($k, $v) = @_; return $v unless $ina{$k}{$v} or blocked($v);
  my $c = $S; $c++ while $used{$k}{$c} or blocked($c); $used{$k}{$c} = 1; $c }
sub index_of { my %h = map { ($_->[0] => $_) } @{$n{$_[0]}{$_[1]}}; \%h }
my ($pa, $ga, $sa) = map { index_of($A, $_) } qw(passwd group shadow); my $sb = index_of($B, "shadow");
my (%final, %u, %g, %gone, @new);
for my $p (@{$n{$B}{passwd}}) { my ($name, $uid) = @$p[0, 2]; my $old = $pa->{$name};
  if ($uid < 1000) { $final{$name} = $name if $old; $u{$uid} = $old ? $old->[2] : 65534; next }
  my $s = $sb->{$name}; my $same = $old && lc((split /,/, $old->[4], -1)[0]) eq lc((split /,/, $p->[4], -1)[0]);
  if ($same) { $final{$name} = $name; $u{$uid} = $old->[2] }
  elsif ($s->[7] ne "" && $s->[7] < @E@) { $gone{$name} = 1; $u{$uid} = $pa->{"@V@"}[2]; next }
  else { my @p = @$p; my @s = @$s; $u{$uid} = $p[2] = number("passwd", $uid);
    if ($old) { $p[0] .= $X; $p[5] =~ s{[^/]*$}{$p[0]} }
    $s[0] = $final{$name} = $p[0]; $p[6] = "/usr/sbin/nologin" if $s->[1] =~ /^[!*]/;
    push @new, \@p; push @{$n{$A}{shadow}}, \@s; $sa->{$p[0]} = \@s }
  $sa->{$final{$name}}[1] =~ s/^!*/!/ if $s->[1] =~ /^[!*]/ }
for my $q (@{$n{$B}{group}}) { my ($name, $pw, $gid, $m) = @$q;
  if ($gone{$name}) { $g{$gid} = $ga->{"@V@"}[2]; next }
  if ($gid < 1000 and !$ga->{$name}) { $g{$gid} = 65534; next }
  if ($gid >= 1000) { if ($final{$name}) { $name = $final{$name} } elsif ($sep{$name}) { $name .= $X } }
  if (!$ga->{$name}) { $ga->{$name} = [$name, $pw, number("group", $gid), ""]; push @{$n{$A}{group}}, $ga->{$name} }
  my $row = $ga->{$name}; $g{$gid} = $row->[2]; my %seen; my @keep = split /,/, $row->[3];
  $row->[3] = join ",", grep { !$seen{$_}++ } @keep, map { $final{$_} // () } split /,/, $m }
$_->[3] = $g{$_->[3]} for @new; push @{$n{$A}{passwd}}, @new;
for my $k (qw(passwd group shadow)) { open my $f, ">", "@O@/$k"; print $f join(":", @$_), "\n" for @{$n{$A}{$k}} }
open my $f, ">", "@O@/@T@"; for (slurp("@T@")) { my ($p, $x, $y) = split /\t/;
  print $f join("\t", $p, $u{$x} // 65534, $g{$y} // 65534), "\n" }
PL
perl /tmp/union.pl; rm -f /tmp/union.pl

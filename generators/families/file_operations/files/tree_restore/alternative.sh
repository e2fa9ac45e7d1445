
cat > /tmp/restore.pl <<'PL'
use JSON::PP;
my $c = JSON::PP->new->decode($ARGV[0]); my $j = JSON::PP->new->utf8; my $deep = $c->{medium};
sub slurp { open my $f, "<:raw", $_[0] or die $_[0]; local $/; <$f> }
sub rows {
  my ($file, @fields) = @_; my @all;
  for (split /\n/, slurp($file)) {
    if ($c->{kind} eq "jsonl") {
      my $o = $j->decode($_);
      push @all, [map { my $v = "$o->{$_}"; utf8::encode($v); $v } @fields] }
    elsif ($c->{kind} eq "tab") { my @r = split /\t/; $r[-1] =~ s/%(..)/chr hex $1/ge; push @all, \@r }
    else { my @r = map { s/^[^=]*=//r } split / /; $r[-1] =~ s/\\([0-7]{3})/chr oct $1/ge; push @all, \@r }
  }
  @all
}
sub inside { my ($p, $t) = @_; $t eq "." || $p eq $t || index($p, "$t/") == 0 }
chdir $c->{root};
my (%want, @frozen, @missing);
for (rows($c->{manifest}, @{$c->{fields}})) { my @r = @$_; $want{$r[5]} = [@r[0 .. 4]] }
if ($deep) {
  @frozen = map { my $v = $_; utf8::encode($v); $v } @{$j->decode(slurp($c->{frozen}))};
  my %at; @at{@{$c->{fields}}[1 .. 4]} = (1 .. 4);
  for (rows($c->{overrides}, @{$c->{ofields}})) {
    my ($scope, $kind, $name, $value, $top) = @$_;
    for my $p (keys %want) {
      next unless ($scope eq "only" ? $p eq $top : inside($p, $top)) && ($kind eq "*" || $kind eq $want{$p}[0]);
      my $i = $at{$name};
      if ($i == 1) {
        next if $want{$p}[0] eq "l";
        my ($sign, $bits) = $value =~ /^([+-]?)(.*)/; my $old = oct $want{$p}[1];
        $value = $sign eq "+" ? $old | oct $bits : $sign eq "-" ? $old & ~oct $bits : oct $bits;
        $want{$p}[1] = sprintf "%04o", $value; $value = $$_[3];
      } else { $want{$p}[$i] = $value }
    }
  }
}
my @go;
for my $p (sort keys %want) {
  next if grep { inside($p, $_) } @frozen;
  my ($kind) = @{$want{$p}};
  system "mkdir", "-p", "--", "./$p" if $kind eq "d" && !-e $p && !-l $p;
  my $is = -l $p ? "l" : -d _ ? "d" : -f _ ? "f" : "";
  if ($is ne $kind) { push @missing, $p; next }
  push @go, $p;
}
for my $p (@go) {
  my ($kind, $mode, $uid, $gid) = @{$want{$p}};
  if ($kind eq "l") { system "chown", "-h", "$uid:$gid", "./$p" }
  else { chown $uid, $gid, "./$p"; chmod oct $mode, "./$p" }
}
for my $p (@go) {
  my $t = $want{$p}[4];
  system "touch", "-h", "-m", "-d", ($t =~ /^\d+$/ ? "\@$t" : $t), "./$p" }
open my $o, ">", $c->{report};
my @out = map { my $s = $_; utf8::decode($s); $s } @missing;
print $o JSON::PP->new->utf8->encode(\@out);
PL
perl /tmp/restore.pl '@CONFIG@'

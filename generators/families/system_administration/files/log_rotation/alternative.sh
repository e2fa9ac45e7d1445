cd @F@ && cat > /tmp/turn.pl <<'PL'
use strict; my ($policy, $state, $day) = @ARGV;
sub days { my ($y, $m, $d) = split /-/, shift; if ($m < 3) { $y--; $m += 12 }
  return 365*$y + int($y/4) - int($y/100) + int($y/400) + int((153*($m-3)+2)/5) + $d }
sub rx { my $p = quotemeta shift; $p =~ s/\\\*/[^\/]*/g; qr/^$p$/ }
my (@blocks, $now); $now = ["base", "", {}]; push @blocks, $now;
open my $f, "<", $policy or die; while (<$f>) { s/^\s+|\s+$//g; next if /^#/ or !length;
  if (/^\[(\w+) (\S+)\]$/) { $now = [$1, $2, {}]; push @blocks, $now; next }
  { my ($k, $v) = split " ", $_, 2; $now->[2]{$k} = $v } }
open $f, "<", $state or die; my @rows = map { chomp; [split /\t/] } <$f>;
for my $row (@rows) { my ($path, $last, $owner) = @$row; my %s;
  for my $pass (qw(base owner path)) { for my $b (grep { $_->[0] eq $pass } @blocks) {
    my $rx = rx($b->[1]);
    next unless $pass eq "base" or ($pass eq "owner" ? $owner : $path) =~ $rx; %s = (%s, %{$b->[2]}) } }
  my $log = "logs/$path"; my $bytes = -s $log; next unless $bytes;
  my $limit = $s{size}; $limit = $1 * 1024 if $limit =~ /^(\d+)k$/;
  next unless $bytes > $limit or days($day) - days($last) >= $s{days};
  $row->[1] = $day; my ($dir, $name) = $log =~ m{^(.*)/(.*)$}; $dir .= "/$s{archive}" if $s{archive}; mkdir $dir;
  my @plain; (my $digits = $day) =~ s/-//g; my $dated = ($s{names} || "") eq "dated";
  my $new = $dated ? "$dir/$name-$digits" : "$dir/$name.1"; my $count = 1;
  my @old = $dated ? reverse sort grep { m{^\Q$dir/$name\E-\d{8}(\.gz)?$} } glob("$dir/$name-*")
    : sort { ($b =~ /\.(\d+)(?:\.gz)?$/)[0] <=> ($a =~ /\.(\d+)(?:\.gz)?$/)[0] }
    grep { m{^\Q$dir/$name\E\.\d+(\.gz)?$} } glob("$dir/$name.*");
  for my $o (@old) { my $to = $o; my $n;
    if ($dated) { $n = ++$count }
    else { my ($k, $gz) = $o =~ /\.(\d+)(\.gz)?$/; $n = $k + 1; $to = "$dir/$name.$n" . ($gz || "") }
    if ($n > $s{keep}) { unlink $o; next } rename $o, $to; push @plain, $to unless $to =~ /\.gz$/ }
  if ($s{keep}) { rename $log, $new; push @plain, $new if $s{compress} eq "now" } else { unlink $log }
  system("gzip", "-n", "-f", @plain) if @plain and $s{compress} ne "never";
  open my $e, ">", $log or die; close $e; chmod oct($s{mode}), $log }
open $f, ">", $state or die; print $f join("\t", @$_), "\n" for @rows; close $f;
PL
perl /tmp/turn.pl @P@ @S@ @D@; rm -f /tmp/turn.pl

cat > @P@ <<'PL'
#!/usr/bin/perl
use strict; use Socket; my ($port, $path) = @ARGV; my %v;
@v{split / /, "@V@"} = qw(put get del tick life keep add list stop begin commit drop watch);
my %n = (put => [2, 3], get => [1, 1], del => [1, 1e9], tick => [1, 1], life => [1, 1], keep => [1, 1], add => [2, 2], list => [0, 1],
  stop => [0, 0], begin => [0, 0], commit => [0, 0], drop => [0, 0], watch => [1, 1e9]);
my ($clock, %d, %c) = (0); my ($K, $N, $S) = (qr/^[A-Za-z0-9_.:-]{1,32}\z/, qr/^[0-9]{1,9}\z/, qr/^-?[0-9]{1,18}\z/);
if (open my $f, "<", $path) { my $l = <$f>; $clock = (split " ", $l)[1];
  while (<$f>) { chomp; my ($k, $u, $h) = split / /, $_, 3; $d{$k} = [pack("H*", $h), $u eq "-" ? undef : $u] } }
sub e { my $x = $d{$_[0]} or return; if (defined $x->[1] and $x->[1] <= $clock) { delete $d{$_[0]}; return } $x }
sub sig { my $x = e($_[0]); $x ? "y$x->[0] " . ($x->[1] // "-") : "n" }
sub do_it { my ($verb, $a, $val) = @_; my $x = @$a ? e($a->[0]) : undef;
  if ($verb eq "put") { $d{$a->[0]} = [$val, @$a == 3 ? $clock + $a->[2] : undef]; return "OK\n" }
  if ($verb eq "get") { return $x ? "VAL " . length($x->[0]) . "\n$x->[0]\n" : "NIL\n" }
  if ($verb eq "del") { my $i = 0; for (@$a) { $i++ if e($_); delete $d{$_} } return "INT $i\n" }
  if ($verb eq "tick") { $clock += $a->[0]; return "INT $clock\n" }
  if ($verb eq "life") { return $x ? "INT " . (defined $x->[1] ? $x->[1] - $clock : -1) . "\n" : "NIL\n" }
  if ($verb eq "keep") { return "INT 0\n" unless $x and defined $x->[1]; $d{$a->[0]} = [$x->[0], undef]; return "INT 1\n" }
  if ($verb eq "add") { my $o = $x ? $x->[0] : 0; return "ERR number\n" unless $o =~ $S; my $t = $o + $a->[1]; $t = 0 if $t == 0;
    $d{$a->[0]} = ["$t", $x ? $x->[1] : undef]; return "INT $t\n" }
  my $p = @$a ? $a->[0] : ""; my @k = sort grep { e($_) and index($_, $p) == 0 } keys %d; "ARR " . @k . "\n" . join "", map "$_\n", @k }
sub put_out { my ($s, $x) = @_; while (length $x) { my $w = syswrite $s, $x; return unless $w; substr($x, 0, $w) = "" } }
sub step { my $c = shift; my $i = index $c->{b}, "\n"; return if $i < 0; my @a = split / /, substr($c->{b}, 0, $i), -1; my $used = $i + 1;
  my $verb = @a ? $v{shift @a} : undef; my ($bad, $val) = ("", "");
  if (!$verb) { $bad = "command" } elsif (@a < $n{$verb}[0] or @a > $n{$verb}[1]) { $bad = "arguments" }
  elsif ($verb eq "put") { if ($a[1] !~ $N) { $bad = "number" } else { return if length($c->{b}) < $used + $a[1] + 1;
    $val = substr $c->{b}, $used, $a[1]; $used += $a[1] + 1; $bad = "size" if $a[1] > @L@ } }
  substr($c->{b}, 0, $used) = "";
  unless ($bad) { my @k = $verb =~ /^(del|watch)$/ ? @a : $verb =~ /^(tick|stop)$/ ? () : @a ? ($a[0]) : ();
    if (grep { !/$K/ } @k) { $bad = "key" } elsif ($verb eq "put" and @a == 3 and ($a[2] !~ $N or !($a[2] > 0))) { $bad = "number" }
    elsif ($verb eq "tick" and $a[0] !~ $N or $verb eq "add" and $a[1] !~ $S) { $bad = "number" } }
  if ($bad) { $c->{bad} = 1; return "ERR $bad\n" } my $in = $c->{q};
  if ($verb eq "stop") { put_out($c->{s}, "$c->{o}BYE\n"); open my $f, ">", $path; print $f "clock $clock\n";
    for (sort keys %d) { my $x = e($_) or next; print $f "$_ ", $x->[1] // "-", " ", unpack("H*", $x->[0]), "\n" } close $f; exit 0 }
  return "ERR state\n" if $verb =~ /^(begin|watch)$/ ? $in : $verb =~ /^(commit|drop)$/ ? !$in : 0;
  if ($verb eq "begin") { $c->{q} = []; $c->{bad} = 0; return "OK\n" }
  if ($verb eq "watch") { $c->{w}{$_} = sig($_) for @a; return "OK\n" }
  if ($verb eq "commit" or $verb eq "drop") { my $w = $c->{w}; $c->{q} = undef; $c->{w} = {}; return "OK\n" if $verb eq "drop";
    return "ERR state\n" if $c->{bad}; for (keys %$w) { return "NIL\n" if sig($_) ne $w->{$_} }
    return join "", "ARR " . @$in . "\n", map { do_it(@$_) } @$in }
  if ($in) { push @$in, [$verb, [@a], $val]; return "QUEUED\n" } do_it($verb, \@a, $val) }
socket(my $srv, PF_INET, SOCK_STREAM, 0); setsockopt($srv, SOL_SOCKET, SO_REUSEADDR, 1);
bind($srv, sockaddr_in($port, inet_aton("127.0.0.1"))) or die; listen($srv, 64); $SIG{PIPE} = "IGNORE";
while (1) { my $r = ""; vec($r, fileno $srv, 1) = 1; vec($r, $_, 1) = 1 for keys %c; select($r, undef, undef, undef);
  if (vec($r, fileno $srv, 1)) { accept(my $s, $srv); binmode $s; $c{fileno $s} = {s => $s, b => "", w => {}, o => ""} }
  for my $fd (keys %c) { next unless vec($r, $fd, 1); my $c = $c{$fd}; my $got = sysread $c->{s}, $c->{b}, 65536, length $c->{b};
    if (!$got) { close $c->{s}; delete $c{$fd}; next } $c->{o} = ""; while (defined(my $x = step($c))) { $c->{o} .= $x }
    put_out($c->{s}, $c->{o}) } }
PL
chmod 755 @P@

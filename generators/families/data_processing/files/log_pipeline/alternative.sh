cat > /tmp/hours.pl <<'PL'
use strict; use warnings; use JSON::PP; use Time::Local qw(timegm_modern);
my @kinds = @{decode_json('@KINDS_JSON@')}; my $count = @COUNT@; @kinds = @kinds[0 .. $count - 1];
my %month; @month{qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)} = 0 .. 11;
my %host;
if ($count > 3) {
    open(my $f, "<", "@LOGS@/hosts.csv"); my $head = <$f>;
    while (<$f>) { chomp; my ($h, $o, $fast) = split /,/; $host{$h} = $o * 60 + ($fast || 0) }
}
sub moment {
    my ($y, $mo, $d, $h, $mi, $s) = @_; my $t = eval { timegm_modern($s, $mi, $h, $d, $mo, $y) };
    die "time\n" unless defined $t; return $t;
}
sub checked { my ($id, @n) = @_; die "id\n" unless $id =~ /^@PREFIX@\d+$/; for (@n) { die "number\n" unless /^\d+$/ } }
my @parse = (
    sub {
        my ($d, $m, $y, $h, $mi, $s, $z, $st, $by, $id) = $_[0] =~
            m{^\S+ \S+ \S+ \[(\d+)/(\w+)/(\d+):(\d+):(\d+):(\d+) ([+-]\d{4})\] "[^"]*" (\S+) (\S+) (\S+)$} or die "format\n";
        die "time\n" unless exists $month{$m};
        my $off = substr($z, 1, 2) * 3600 + substr($z, 3) * 60; $off = -$off if $z =~ /^-/;
        my $t = moment($y, $month{$m}, $d, $h, $mi, $s) - $off;
        checked($id, $st, $by); return ($id, $t, $st);
    },
    sub {
        my $r = eval { decode_json($_[0]) }; die "format\n" unless ref $r eq "HASH";
        for (qw(time @KEY@ user ms)) { die "format\n" unless exists $r->{$_} }
        my ($y, $m, $d, $h, $mi, $s, $frac, $z) = $r->{time} =~ /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/
            or die "time\n";
        my $off = $z eq "Z" ? 0 : substr($z, 1, 2) * 3600 + substr($z, 4) * 60; $off = -$off if $z =~ /^-/;
        my $t = moment($y, $m - 1, $d, $h, $mi, $s) - $off;
        my $ms = encode_json([$r->{ms}]); $ms =~ s/^\[|\]$//g;
        checked($r->{"@KEY@"}, $ms); return ($r->{"@KEY@"}, $t, [$r->{user}, $ms]);
    },
    sub {
        my %r; my $l = $_[0];
        while ($l =~ /(\w+)=(?:"([^"]*)"|(\S*))/g) { $r{$1} = defined $2 ? $2 : $3 }
        for (qw(time @KEY@ outcome @UNIT@)) { die "format\n" unless exists $r{$_} }
        die "time\n" unless $r{time} =~ /^\d+$/;
        checked($r{"@KEY@"}, $r{"@UNIT@"}); return ($r{"@KEY@"}, $r{time}, $r{outcome} eq "ok" ? $r{"@UNIT@"} : 0);
    },
    sub {
        my ($m, $d, $h, $mi, $s, $host, $pid, $id, $what) = $_[0] =~
            /^(\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\S+) \w+\[(\S+)\]: (\S+) (failed|done)/ or die "format\n";
        die "time\n" unless exists $month{$m} && exists $host{$host};
        my $t = moment(@YEAR@, $month{$m}, $d, $h, $mi, $s) - $host{$host};
        checked($id, $pid); return ($id, $t, $what);
    },
    sub {
        my @f; my $l = $_[0];
        while ($l =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/g) { push @f, defined $1 ? $1 : $2; last if $3 eq "" }
        die "format\n" unless @f == 5 && $f[1] =~ /^[+-]?\d+$/;
        my ($d, $m, $y, $h, $mi, $s) = $f[0] =~ /^(\d\d)\.(\d\d)\.(\d{4}) (\d\d):(\d\d):(\d\d)$/ or die "time\n";
        my $t = moment($y, $m - 1, $d, $h, $mi, $s) - $f[1] * 60;
        checked($f[2], $f[4]); return ($f[2], $t, $f[4]);
    },
);
my (%broken, @seen, %other);
for my $i (0 .. $count - 1) {
    my %c = map { $_ => 0 } qw(format time id number); my %found;
    for my $path ("@LOGS@/$kinds[$i].log.1", "@LOGS@/$kinds[$i].log") {
        open(my $f, "<", $path) or next;
        while (my $l = <$f>) {
            chomp $l; next unless $l =~ /\S/;
            my ($id, $t, $v) = eval { $parse[$i]->($l) };
            if ($@) { chomp(my $why = $@); $c{$why}++; next }
            my $old = $found{$id};
            $found{$id} = [$t, $v] if !$old || ($i ? $t > $old->[0] : $t < $old->[0]);
        }
    }
    $broken{$kinds[$i]} = \%c; push @seen, \%found;
    if ($i) { $other{$_} = 1 for keys %found }
}
my ($req, $app, $pay, $work, $queue) = @seen; my %hour;
for my $id (keys %$req) {
    my ($t, $st) = @{$req->{$id}}; my $h = $hour{int($t / 3600)} ||= {n => 0, u => {}, max => 0, err => 0, sum => 0, try => 0};
    $h->{n}++;
    if (my $a = $app->{$id}) { $h->{u}{$a->[1][0]} = 1; $h->{max} = $a->[1][1] if $a->[1][1] > $h->{max} }
    my $w = $work ? $work->{$id} : undef; my $late = $w ? $w->[0] - $t : -1;
    $h->{err}++ if $st >= 500 || ($w && $w->[1] eq "failed" && $late >= 0 && $late <= @WINDOW@);
    $h->{sum} += $pay->{$id}[1] if $pay && $pay->{$id};
    $h->{try} += $queue->{$id}[1] if $queue && $queue->{$id};
}
open(my $o, ">", "@REPORT@");
print $o "hour,requests,users,slowest_ms,errors", $count > 2 ? ",@UNIT@" : "", $count > 4 ? ",attempts" : "", "\n";
for my $k (sort { $a <=> $b } keys %hour) {
    my $h = $hour{$k}; my @g = gmtime($k * 3600);
    my @row = (sprintf("%04d-%02d-%02dT%02d:00Z", $g[5] + 1900, $g[4] + 1, $g[3], $g[2]), $h->{n}, scalar(keys %{$h->{u}}),
        $h->{max}, $h->{err});
    push @row, $h->{sum} if $count > 2; push @row, $h->{try} if $count > 4; print $o join(",", @row), "\n";
}
close $o;
open(my $j, ">", "@SUMMARY@");
print $j encode_json({broken => \%broken, unmatched => scalar(grep { !$app->{$_} } keys %$req),
    orphans => scalar(grep { !$req->{$_} } keys %other)});
close $j;
PL
perl /tmp/hours.pl
rm -f /tmp/hours.pl

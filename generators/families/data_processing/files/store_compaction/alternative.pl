#!/usr/bin/perl
use strict; use warnings; use JSON::PP;
my @table = map { my $c = $_; $c = $c & 1 ? 0xEDB88320 ^ ($c >> 1) : $c >> 1 for 1 .. 8; $c } 0 .. 255;
sub crc { my $c = 0xFFFFFFFF; $c = $table[($c ^ $_) & 255] ^ ($c >> 8) for unpack "C*", $_[0]; return $c ^ 0xFFFFFFFF }
my ($store, $out, $now) = @ARGV; my ($first, $rich) = (@FIRSTN@, @RICHN@); my $o = "@P@";
my $layout = $rich ? "Q${o}CL${o}L${o}S${o}L${o}" : "Q${o}CS${o}L${o}"; my $size = $rich ? 23 : 15;
my %n = map { $_ => 0 } qw(segments bad_segments records corrupt torn live);
my @segments;
for my $path (glob("$store/*.seg")) {
    open(my $f, "<:raw", $path) or die; local $/; my $d = <$f>; $d = "" unless defined $d;
    my ($magic, $version, $number, $sum) = length $d >= 14 ? unpack("a4S${o}L${o}L${o}", $d) : ("", 0, 0, 0);
    if ($magic ne "@MAGIC@" || $version != @VERSION@ || crc(substr($d, 0, 10)) != $sum) { $n{bad_segments}++; next }
    $n{segments}++; push @segments, [$number, $d];
}
@segments = sort { $a->[0] <=> $b->[0] } @segments;
my (@all, %done); $done{0} = 1;
for (@segments) {
    my $rest = substr($_->[1], 14);
    while (length $rest) {
        my $lead = $first ? 4 : 0; my @f = length $rest >= $lead + $size ? unpack($layout, substr($rest, $lead)) : ();
        if (!@f || length $rest < 4 + $size + $f[-1] + $f[-2]) { $n{torn}++; last }
        my $body = substr($rest, $lead, $size + $f[-1] + $f[-2]);
        my $sum = unpack("L${o}", substr($rest, $first ? 0 : length $body, 4));
        substr($rest, 0, 4 + length $body) = "";
        if (crc($body) != $sum) { $n{corrupt}++; next }
        $n{records}++;
        my ($txn, $expiry) = $rich ? @f[2, 3] : (0, 0);
        if ($f[1] == 4) { $done{$txn} = 1; next }
        push @all, {s => $f[0], t => $f[1], x => $txn, e => $expiry, k => substr($body, $size, $f[-2]), v => substr($body, $size + $f[-2])};
    }
}
# all is in the order of segment and place, and sort is stable: the last one of a key decides
my (%state, @prefixes);
for my $r (sort { $a->{s} <=> $b->{s} } grep { $done{$_->{x}} } @all) {
    if ($r->{t} == 3) { my $p = $r->{k}; delete $state{$_} for grep { substr($_, 0, length $p) eq $p } keys %state }
    elsif ($r->{t} == 2 || ($r->{e} && $r->{e} <= $now)) { delete $state{$r->{k}} }
    else { $state{$r->{k}} = $r }
}
my $head = pack("a4S${o}L${o}", "@MAGIC@", @VERSION@, @segments ? $segments[-1][0] + 1 : 1);
open(my $f, ">:raw", $out); print $f $head, pack("L${o}", crc($head));
for my $k (sort keys %state) {
    my $r = $state{$k}; $n{live}++;
    my $body = pack($layout, $r->{s}, 1, $rich ? (0, $r->{e}) : (), length $k, length $r->{v}) . $k . $r->{v};
    print $f $first ? (pack("L${o}", crc($body)), $body) : ($body, pack("L${o}", crc($body)));
}
close $f;
print encode_json(\%n), "\n";

#!/usr/bin/perl
use strict; use warnings; use JSON::PP; use Time::Local qw(timegm_modern);
my $L = decode_json('@SPEC@'); my %W = %{$L->{words}}; my $hard = $L->{hard};
my %letter; @letter{@{$L->{codes}}} = qw(H G D X E T);
my %places = (EUR => 2, USD => 2, JPY => 0, KWD => 3);
sub reject { die "$_[0]\n" }
sub field {
    my ($raw, $kind) = @_;
    if ($kind eq "text") { return $raw }
    if ($kind eq "id") { reject("field") if $raw =~ /^ /; $raw =~ s/ +$//; return $raw }
    my $sign = 1;
    if ($kind eq "signed") {
        my $c = substr($raw, -1);
        my $p = index("{ABCDEFGHI", $c); my $m = index("}JKLMNOPQR", $c);
        substr($raw, -1) = $p if $p >= 0;
        if ($m >= 0) { substr($raw, -1) = $m; $sign = -1 }
    }
    reject("field") unless $raw =~ /^[0-9]+$/;
    return $sign * $raw unless $kind eq "date";
    my @d = unpack "A4A2A2", $raw;
    reject("field") unless $d[0] > 0 && eval { timegm_modern(0, 0, 0, $d[2], $d[1] - 1, $d[0]); 1 };
    return join "-", @d;
}
sub money {
    my ($v, $c) = @_; return $v unless $hard;
    my $p = $places{$c}; my $t = abs $v; return $v < 0 ? "-$t" : "$t" unless $p;
    $t = sprintf("%0*d", $p + 1, $t); substr($t, -$p, 0) = "."; return $v < 0 ? "-$t" : $t;
}
sub shown {
    my ($c, @items) = @_; my @out;
    for my $d (@items) {
        (my $t = $d->{text}) =~ s/ +$//;
        push @out, {$W{ref} => $d->{ref}, $W{day} => $d->{day}, $W{quantity} => $d->{quantity}, $W{text} => $t,
            $W{amount} => money($d->{amount}, $c)};
    }
    return \@out;
}
sub convert {
    open(my $f, "<:raw", $_[0]) or die; local $/; my $all = <$f>; $all = "" unless defined $all;
my @lines = split /\n/, $all, -1; pop @lines if @lines && $lines[-1] eq "";
s/\r$// for @lines;
reject("form") if !@lines || grep { length != $L->{width} } @lines;
my $order = join "", map { $letter{substr($_, 0, 2)} || "?" } @lines;
reject("sequence") unless $hard ? $order =~ /^H(G(DX*)*E)*T$/ : $order =~ /^HD*T$/;
my @records;
for my $line (@lines) {
    my %r = (k => $letter{substr($line, 0, 2)}); my $rest = $line; substr($rest, 0, 2) = "  ";
    for (@{$L->{records}{substr($line, 0, 2)}}) {
        my ($name, $start, $end, $kind) = @$_; my $n = $end - $start + 1;
        $r{$name} = field(substr($line, $start - 1, $n), $kind);
        substr($rest, $start - 1, $n) = " " x $n;
    }
    reject("field") if $rest =~ /[^ ]/ || (exists $r{currency} && !exists $places{$r{currency}});
    push @records, \%r;
}
my ($bad, $check, $sum, $count, $total, @items, @groups, $g) = (0, 0, 0, 0, 0);
for my $r (@records) {
    my $k = $r->{k};
    if ($k eq "G") { $g = $r; @items = (); ($count, $sum) = (0, 0) }
    elsif ($k eq "D") { push @items, {%$r}; $check += $r->{quantity}; $sum += $r->{amount}; $count++ }
    elsif ($k eq "X") { $items[-1]{text} .= $r->{text} }
    if ($k eq "E" || ($k eq "T" && !$hard)) {
        $bad = 1 if $r->{count} != $count || $r->{total} != $sum;
        $total += $r->{total};
        next unless $hard;
        push @groups, {$W{account} => $g->{account}, currency => $g->{currency}, total => money($sum, $g->{currency}),
            $W{items} => shown($g->{currency}, @items)};
    }
}
my $last = $records[-1];
$bad = 1 if $last->{check} != $check % 10000 || ($hard && ($last->{count} != @records || $last->{total} != $total));
reject("total") if $bad;
my %out = map { $W{$_} => $records[0]{$_} } qw(sender number created);
if ($hard) { $out{$W{groups}} = \@groups } else { $out{$W{items}} = shown("", @items) }
return \%out;
}
my $exit = 0;
for my $path (@ARGV) {
    my $doc = eval { convert($path) }; my $status = 0;
    if (!$doc) { chomp(my $why = $@); $status = $L->{status}{$why} }
    $exit ||= $status;
    print encode_json({status => $status, document => $doc}), "\n";
}
exit $exit;

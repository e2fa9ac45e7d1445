cat > /tmp/merge.pl <<'PL'
use strict; use warnings; use Encode; use JSON::PP; use Time::Local;
my @columns = split / /, "@SPACED@";
my ($key, undef, $day, $sum) = @columns;
sub content {
    open(my $f, "<:raw", $_[0]) or die; local $/; my $b = <$f>;
    return decode("UTF-16LE", substr($b, 2)) if $b =~ /^\xff\xfe/;
    return decode("UTF-16BE", substr($b, 2)) if $b =~ /^\xfe\xff/;
    $b =~ s/^\xef\xbb\xbf//;
    my $t = eval { decode("UTF-8", my $copy = $b, Encode::FB_CROAK) };
    return defined $t ? $t : decode("cp1252", $b);
}
sub parse {
    my ($t, $sep) = @_; my (@rows, @row); my $f = ""; my $q = 0;
    my $i = 0; my $n = length $t;
    while ($i < $n) {
        my $c = substr($t, $i, 1);
        if ($q && $c eq '"') {
            if ($i + 1 < $n && substr($t, $i + 1, 1) eq '"') { $f .= '"'; $i++ } else { $q = 0 }
        }
        elsif ($q) { $f .= $c }
        elsif ($c eq '"' && $f eq "") { $q = 1 }
        elsif ($c eq $sep) { push @row, $f; $f = "" }
        elsif ($c eq "\r") { }
        elsif ($c eq "\n") { push @rows, [@row, $f] if @row || $f ne ""; @row = (); $f = "" }
        else { $f .= $c }
        $i++;
    }
    push @rows, [@row, $f] if @row || $f ne "";
    return @rows;
}
sub squeeze { my $s = $_[0]; $s =~ s/\s+/ /g; $s =~ s/^ | $//g; return $s }
my (%best, @bad); my ($read, $good) = (0, 0);
opendir(my $dir, "@INBOX@"); 
for my $name (sort grep { /\.csv$/ } readdir $dir) {
    my $t = content("@INBOX@/$name"); my ($first) = split /\n/, $t; my ($sep) = $first =~ /([,;\t|])/;
    my @rows = parse($t, $sep); my $raw = join("\0", @{shift @rows});
    my @head = map { lc squeeze($_) } split /\0/, $raw; my $n = 0;
    for my $r (@rows) {
        next if join("\0", @$r) eq $raw;
        $n++; $read++; my @r = map { squeeze($_) } @$r;
        if (grep { $_ ne "" } @r[@head .. $#r]) { push @bad, [$name, $n, "too_wide"]; next }
        my %v; @v{@head} = @r; for (@head) { $v{$_} = "" unless defined $v{$_} }
        $v{$key} = uc $v{$key};
        if ($v{$key} eq "") { push @bad, [$name, $n, "no_key"]; next }
        my @d = $v{$day} =~ /^(\d{4})-(\d\d)-(\d\d)$/;
        @d = ($3, $2, $1) if $v{$day} =~ /^(\d\d)\.(\d\d)\.(\d{4})$/;
        @d = ($3, $1, $2) if $v{$day} =~ m{^(\d\d)/(\d\d)/(\d{4})$};
        if (!@d || !eval { timegm(0, 0, 0, $d[2], $d[1] - 1, $d[0]); 1 }) { push @bad, [$name, $n, "bad_date"]; next }
        $v{$day} = join "-", @d;
        my $a = $v{$sum}; my $neg = 0;
        if ($a =~ /^\((.*)\)$/) { $a = $1; $neg = 1 } elsif ($a =~ s/-$//) { $neg = 1 }
        if ($sep eq ";") { $a =~ tr/.//d; $a =~ tr/,/./ } else { $a =~ tr/,//d }
        if ($a !~ /^(-?)(\d+)(?:\.(\d+))?$/) { push @bad, [$name, $n, "bad_amount"]; next }
        my $cents = $2 * 100 + substr((defined $3 ? $3 : "") . "00", 0, 2);
        $cents = -$cents if $neg || $1;
        $v{$sum} = $cents; $good++;
        $best{$v{$key}} = \%v if !$best{$v{$key}} || $v{$day} ge $best{$v{$key}}{$day};
    }
}
sub money {
    my $c = $_[0];
    return sprintf("%s%d.%02d", $c < 0 ? "-" : "", int(abs($c) / 100), abs($c) % 100);
}
sub line { return join(",", map { my $f = $_; if ($f =~ /[",\n]/) { $f =~ s/"/""/g; $f = "\"$f\"" } $f } @_) . "\n" }
open(my $o, ">:encoding(UTF-8)", "@CLEAN@"); print $o line(@columns); my $total = 0;
for my $k (sort keys %best) {
    my %v = %{$best{$k}};
    $total += $v{$sum};
    $v{$sum} = money($v{$sum});
    print $o line(@v{@columns});
}
close $o;
my %out = (rows => $read, superseded => $good - keys %best, kept => scalar(keys %best), total => money($total));
if (@REJECTING@) {
    open(my $x, ">", "@REJECTS@");
    print $x "file,row,reason\n"; print $x line(@$_) for @bad; close $x; $out{rejected} = scalar @bad;
}
open(my $j, ">", "@SUMMARY@"); print $j encode_json(\%out); close $j;
PL
perl /tmp/merge.pl
rm -f /tmp/merge.pl

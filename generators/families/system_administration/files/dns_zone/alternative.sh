cd @F@ && cat > /tmp/mend.pl <<'PL'
use strict; my ($D, $U, $P, $R) = ("@D@.", "@U@.@D@.", "@P@.", "@R@"); my %file = ($D, "@FD@", $U, "@FS@", $R, "@FR@");
sub full { my ($n, $o) = @_; return $o if $n eq "@"; return $n if $n =~ /\.$/;
  return "$n." if "$n." =~ /(^|\.)(\Q$D\E|\Q$P\E)$/; "$n.$o" }
my (%soa, %rec);
for my $z (keys %file) { local $/; open my $f, "<", $file{$z}; my $t = <$f>; $t =~ s/;.*//g;
  $t =~ s/\(([^)]*)\)/join " ", split " ", $1/ge; my ($o, $own) = ($z, $z);
  for (split /\n/, $t) { next unless /\S/; if (/^\$ORIGIN\s+(\S+)/) { $o = full($1, $o); next } next if /^\$/;
    my $new = s/^(\S+)// ? full($1, $o) : undef; $own = $new if defined $new; s/^\s*((IN|\d+)\s+)*//;
    my ($k, @d) = /("[^"]*"|\S+)/g; my %at = (NS => [0], CNAME => [0], PTR => [0], MX => [1], SOA => [0, 1]);
    $d[$_] = full($d[$_], $o) for @{$at{$k} || []};
    if ($k eq "SOA") { my $s = $d[2] + 1; $s = @S@01 if $s < @S@01; $d[2] = $s; $soa{$z} = "$own IN SOA @d\n" }
    else { push @{$rec{$z}}, [$own, $k, "@d"] } } }
my (%ip, %alias); open my $f, "<", "@I@"; <$f>; while (<$f>) { chomp; s/\r//; my ($n, $a, $more) = split /,/;
  $ip{"$n.$D"} = $a; $alias{$_ eq "@" ? $D : "$_.$D"} = "$n.$D" for split " ", $more // "" }
sub home { $_[0] =~ /(^|\.)\Q$U\E$/ ? $U : $D }
my %out;
for my $z ($D, $U) { my %busy; for (@{$rec{$z}}) { my ($o, $k, $d) = @$_; next if home($o) ne $z;
    next unless $k =~ /^(MX|TXT)$/ or $k eq "NS" && $o eq $z or $k eq "CNAME" && $d !~ /(^|\.)\Q$D\E$/;
    $busy{$o} = 1; $out{$z} .= "$o IN $k $d\n"; $out{$D} .= "$o IN NS $d\n" if $z eq $U and $k eq "NS";
    $out{$D} .= "$d IN A $ip{$d}\n" if $z eq $U and $k eq "NS" and home($d) eq $U }
  $busy{$z} = 1; for (sort keys %alias) { next if home($_) ne $z;
    $out{$z} .= $busy{$_} ? "$_ IN A $ip{$alias{$_}}\n" : "$_ IN CNAME $alias{$_}\n" } }
for (sort keys %ip) { $out{home($_)} .= "$_ IN A $ip{$_}\n"; $ip{$_} =~ /(\d+)$/; $out{$R} .= "$1.$R IN PTR $_\n" }
for (@{$rec{$R}}) { my ($o, $k, $d) = @$_; $out{$R} .= "$o IN $k $d\n" if $k ne "PTR" }
for my $z (keys %file) { open my $f, ">", $file{$z}; print $f "\$TTL 3600\n$soa{$z}$out{$z}" }
PL
perl /tmp/mend.pl; rm -f /tmp/mend.pl

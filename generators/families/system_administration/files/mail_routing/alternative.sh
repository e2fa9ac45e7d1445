cat > @P@ <<'PL'
#!/usr/bin/perl
use strict; my ($dir, $max) = ($ARGV[0], @D@); my ($box, $smtp, $fail) = split / /, "@I@"; my @t = split / /, "@T@";
sub table { open my $f, "<", "$dir/$_[0]" or return; map { s/#.*//; s/^\s+|\s+$//g; length ? lc : () } <$f> }
my (%local, %other, %alias, %route);
for (table($t[0])) { my ($a, $b) = split; if (defined $b) { $other{$a} = $b } else { $local{$a} = 1 } }
for (table($t[1])) { my ($k, $v) = split /\s*:\s*/, $_, 2; $v = $1 if /^[^:]*:\s*(.*)$/; $alias{$k} = [split /\s*,\s*/, $v] }
my %box = map { ($_ => 1) } table($t[2]); for (table($t[3])) { my ($p, $h) = split; $route{$p} = $h }
sub hop { my $d = shift; return $route{$d} if $route{$d}; my $rest = $d;
  while ($rest =~ s/^[^.]*\././) { return $route{$rest} if $route{$rest}; $rest =~ s/^\.// } $route{"*"} }
sub where { my ($addr, @way) = @_; my ($u, $d) = split /\@/, $addr; $d =~ s/\.$//; $d = $other{$d} if $other{$d};
  my ($base, $tag) = $u =~ /^(.[^+]*)\+(.*)$/ ? ($1, $2) : ($u, ""); my $full = $tag eq "" ? $base : "$base+$tag";
  if (!$local{$d}) { my $h = hop($d); return $h ? "$smtp:$h:$full\@$d" : "$fail:no-route:$full\@$d" }
  my $name = "$base\@$d"; my $mail = $box{$name} ? "$box:$name" . ($tag eq "" ? "" : ":$tag") : "";
  if (grep { $_ eq $name } @way) { return "$fail:loop:$name" if $way[-1] ne $name; return $mail || "$fail:unknown:$name" }
  return "$fail:deep:$name" if @way > $max; my ($to, $carry);
  if ($tag ne "" and $alias{"$full\@$d"}) { $to = $alias{"$full\@$d"} } elsif ($alias{$name}) { ($to, $carry) = ($alias{$name}, 1) }
  elsif ($tag ne "" and $alias{$full}) { $to = $alias{$full} } elsif ($alias{$base}) { ($to, $carry) = ($alias{$base}, 1) }
  elsif ($max < 99) { for my $k (sort { length $b <=> length $a or $a cmp $b } grep { /\*.*\@\Q$d\E$/ } keys %alias) {
    my ($l, $r) = $k =~ /^(.*)\*(.*)\@/; next unless $base =~ /^\Q$l\E(.+)\Q$r\E$/; my $x = $1;
    $to = [map { my $y = $_; $y =~ s/\$1/$x/g; $y } @{$alias{$k}}]; $carry = 1; last } }
  if (!$to) { return $mail if $mail; $to = $alias{"\@$d"} or return "$fail:unknown:$name" }
  my @r; for my $x (map { /^:include:(.*)/ ? table("lists/$1") : $_ } @$to) {
    if ($x eq ":reject:") { push @r, "$fail:rejected:$name"; next } my ($v, $e) = split /\@/, $x;
    if ($carry and $tag ne "" and $v !~ /^.[^+]*\+./) { $v =~ s/\+$//; $v .= "+$tag" }
    push @r, where("$v\@" . ($e // $d), @way, $name) } @r }
while (<STDIN>) { s/^\s+|\s+$//g; if (!/^[^@\s]+\@[^@\s]+$/) { print "$_\t$fail:syntax\n"; next }
  my %s = map { ($_ => 1) } where(lc); print "$_\t", join(",", sort keys %s), "\n" }
PL
chmod 755 @P@


cat > /tmp/rename.pl <<'PL'
use utf8; use feature "fc"; use open ":std", ":encoding(UTF-8)";
use JSON::PP; use Encode; use Unicode::Normalize; use Time::Local;
my $c = JSON::PP->new->utf8->decode(join "", map { encode("UTF-8", decode("UTF-8", $_)) } $ARGV[0]);
my ($root, $hard, $deep) = @{$c}{qw(root hard deep)};
my ($old, $new) = map { my $r = $c->{$_}; $r =~ s/\(\?P</(?</g; qr/^$r$/ } qw(old new);
sub nfc { $hard ? NFC($_[0]) : $_[0] }
sub key { $deep ? fc NFC($_[0]) : $_[0] }
sub e { encode("UTF-8", $_[0]) }
my %given;
if ($deep) {
  open my $f, "<:encoding(UTF-8)", $c->{given}; <$f>;
  while (<$f>) { s/\r?\n$//; my ($p, $n) = split /,/, $_, 2; s/^"|"$//g for $p, $n; $given{$p} = $n }
}
chdir $root;
my @dirs = map { chomp; decode("UTF-8", $_) } map { encode("UTF-8", $_) } `find . -type d`;
my $fresh = "$root.fresh"; mkdir $fresh;
my %log;
for my $dir (sort @dirs) {
  mkdir e("$fresh/$dir") unless $dir eq ".";
  opendir my $h, e($dir);
  my @names = map { decode("UTF-8", $_) } grep { -f e($dir) . "/$_" } readdir $h;
  my %here = map { $_ => 1 } @names; my (%final, %wish, %side, %taken);
  for my $name (@names) {
    my $path = $dir eq "." ? $name : substr($dir, 2) . "/$name";
    if ($hard && $name =~ /^(.+)\Q$c->{side}\E$/ && $here{$1}) { $side{$name} = $1; next }
    if (exists $given{$path}) { $final{$name} = $given{$path}; next }
    my $n = nfc($name); my ($is_old, %p);
    if ($n =~ $old) { %p = %+; $is_old = 1 } elsif ($n =~ $new) { %p = %+; %p = () if $p{word} ne lc $p{word} }
    if (%p && eval { timegm(0, 0, 0, $p{d}, $p{m} - 1, $p{y}); 1 }) {
      my $word = lc $p{word}; $word =~ tr/ /-/;
      my %v = (%p, word => $word, e => lc $p{e}, n => sprintf("%03d", $p{n} + ($is_old ? 0 : $c->{step})));
      ($wish{$name} = $c->{made}) =~ s/\{(\w)\w*(?::0\d)?\}/$v{$1 eq "w" ? "word" : $1}/g;
    } else { $final{$name} = $n }
  }
  $taken{key($_)} = 1 for values %final;
  for my $name (sort { e($a) cmp e($b) } keys %wish) {
    my ($stem, $end) = $wish{$name} =~ /^(.*)\.([^.]*)$/; my ($pick, $k) = ($wish{$name}, 2);
    $pick = "$stem-" . $k++ . ".$end" while $taken{key($pick)};
    $taken{key($pick)} = 1; $final{$name} = $pick;
  }
  $final{$_} = $final{$side{$_}} . $c->{side} for keys %side;
  for my $name (@names) {
    my ($from, $to) = map { $dir eq "." ? $_ : substr($dir, 2) . "/$_" } $name, $final{$name};
    $log{$from} = $to if $from ne $to;
    if ($hard && $name eq $c->{listing}) {
      open my $i, "<:encoding(UTF-8)", e($from); open my $o, ">:encoding(UTF-8)", e("$fresh/$to");
      while (<$i>) { my $l = s/\n$//; print $o exists $final{$_} ? $final{$_} : $_, $l ? "\n" : "" }
    } else { rename e($from), e("$fresh/$to") }
  }
}
open my $l, ">:encoding(UTF-8)", $c->{log};
for (sort { e($a) cmp e($b) } keys %log) {
  print $l $c->{kind} eq "tsv" ? "$_\t$log{$_}\n" : JSON::PP->new->encode({from => $_, to => $log{$_}}) . "\n";
}
PL
perl /tmp/rename.pl '@CONFIG@' && cd / && find '@ROOT@' -mindepth 1 -delete &&
  cp -a '@ROOT@.fresh/.' '@ROOT@/' && rm -r '@ROOT@.fresh'

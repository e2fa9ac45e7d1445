cd '@ROOT@' && find . -name '@MARKER@' -printf '%h/\n' > /tmp/closed
find . -type l > /tmp/symlinks
find . -type f -size +0 | perl -e '
my ($out, $mode, $master, $kind, $k1, $k2, $k3) = @ARGV;
open my $f, "<", "/tmp/closed"; my @closed = <$f>; chomp @closed;
my (%group, %rank, %gone, %size);
while (my $path = <STDIN>) {
  chomp $path;
  next if grep { index($path, $_) == 0 } @closed;
  $path =~ s{^\./}{};
  open my $in, "<:raw", $path; local $/; my $body = <$in>;
  my ($stem) = $path =~ m{([^/]*)\.[^./]*$};
  my $outside = $master ne "" && index($path, "$master/") == 0 ? 0 : 1;
  my $marked = $stem =~ /(?:[ -]copy|[(][0-9]+[)])$/i ? 1 : 0;
  $rank{$path} = sprintf "%d%d%012d%s", $outside, $marked, (stat $path)[9], $path;
  push @{$group{$body}}, $path;
  $/ = "\n";
}
my ($sets, $bytes) = (0, 0);
for my $body (keys %group) {
  my ($kept, @rest) = sort { $rank{$a} cmp $rank{$b} } @{$group{$body}};
  $sets++ if @rest;
  for (@rest) { $gone{$_} = $kept; $bytes += length $body }
}
if ($mode ne "link") {
  open my $l, "<", "/tmp/symlinks";
  while (my $link = <$l>) {
    chomp $link;
    my $to = readlink $link; $to =~ s{^\.\./}{};
    if ($gone{$to}) { unlink $link; symlink "../$gone{$to}", $link }
  }
}
open my $index, ">", "$out/index.$kind";
print $index "kept,copy\n" if $kind eq "csv";
for my $copy (sort keys %gone) {
  my $kept = $gone{$copy};
  printf $index
    $kind eq "csv" ? "%s,%s\n" : $kind eq "tsv" ? "%s\t%s\n" : qq({"kept": "%s", "copy": "%s"}\n), $kept, $copy;
  if ($mode eq "quarantine") {
    my $at = "$out/aside"; mkdir $at;
    for ($copy =~ m{([^/]+)/}g) { $at .= "/$_"; mkdir $at }
    rename $copy, "$out/aside/$copy" or system "mv", $copy, "$out/aside/$copy";
  } else { unlink $copy }
  link $kept, $copy if $mode eq "link";
}
open my $sum, ">", "$out/summary.json";
printf $sum qq({"%s": %d, "%s": %d, "%s": %d}), $k1, $sets, $k2, scalar(keys %gone), $k3, $bytes;
' '@OUT@' '@MODE@' '@MASTER@' '@INDEX@' @KEYS@

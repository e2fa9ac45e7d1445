#!/usr/bin/perl
# Works on bytes; $char is one valid UTF-8 character.
use strict; use warnings;
my ($cap, $keep, $hard) = (@CAP@, @KEEP@, @HARD@);
my $char = qr/[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]
  |\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}/x;
my $csi = $hard ? qr/\e\[|\xc2\x9b/ : qr/\e\[/;
my $term = qr/(?:$csi)[0-?]*[ -\/]*[@-~]|\e\][^\e\x07]*(?:\x07|\e\\)/;
my $words = qr/(?:@WORDS@)=/i;
my $value = $hard ? qr/"[^"]*(?:"|\z)|[^ ,;&"][^ ,;&]*/ : qr/[^ ,;&]+/;
binmode STDIN; binmode STDOUT;
local $/ = undef;
my $all = <STDIN>;
exit 0 if !defined $all || $all eq '';
$all =~ s/\n\z//;
my @lines = split /\n/, $all, -1;
@lines = ('') if !@lines;
for my $line (@lines) {
    $line =~ s/\r\z//;
    my $text = '';
    # A lone 9b byte or the tail of another character must not look like U+009B: walk by characters.
    pos($line) = 0;
    while (pos($line) < length $line) {
        if ($line =~ /\G$term/gc) { next }
        elsif ($line =~ /\G($char)/gc) { $text .= $1 }
        else { $line =~ /\G(.)/gcs; $text .= $1 }
    }
    $text =~ tr/\t/ /;
    my @units; my $before = '';
    pos($text) = 0;
    while (pos($text) < length $text) {
        if ($before !~ /[A-Za-z0-9_]\z/ && $text =~ /\G($words)($value)/gc) {
            my ($w, $v) = ($1, $2);
            push @units, [$w . ($hard && $v =~ /^"/ ? '"***"' : '***')]; $before = $v;
        } elsif ($text =~ /\G($char)/gc) {
            my $c = $before = $1;
            my $o = unpack('U', do { my $d = $c; utf8::decode($d); pack('U', ord $d) });
            if ($o < 32 || $o == 127) { push @units, [sprintf('@BYTE@', $o)] }
            elsif (($o >= 0x80 && $o < 0xa0) || ($hard && ($o == 0x200e || $o == 0x200f || $o == 0xfeff || ($o >= 0x2028 && $o <= 0x202e)
                || ($o >= 0x2066 && $o <= 0x2069)))) { push @units, [sprintf('@CHAR@', $o)] }
            else { push @units, [$c, 1] }
        } else { $text =~ /\G(.)/gcs; $before = $1; push @units, [sprintf('@BYTE@', ord $1)] }
    }
    pop @units while @units && $units[-1][0] eq ' ';
    next if $hard && !@units;
    my $size = 0; $size += $_->[1] // length $_->[0] for @units;
    if ($size > $cap) {
        my ($n, @kept) = (0);
        for my $u (@units) { my $l = $u->[1] // length $u->[0]; last if $n + $l > $keep; $n += $l; push @kept, $u }
        @units = (@kept, [' [+' . ($size - $n) . ']']);
    }
    print map({ $_->[0] } @units), "\n";
}

#!/usr/bin/perl
use strict; use warnings;
my %page = (@PAGE@);
my %flag = map { $_ => 1 } qw(blank upper number reverse);
my (%short, %long, %chosen);
for my $role (keys %page) {
    if ($role =~ /^long:(.*)/) { $long{$page{$role}} = $1 }
    elsif (length $page{$role} == 1) { $short{$page{$role}} = $role }
}

sub usage { print STDERR "usage: see the manual\n"; exit $page{usage} }

my @words = @ARGV;
utf8::decode($_) for @words;
while (@words && $words[0] =~ /^-./s) {
    my $word = shift @words;
    last if $word eq '--';
    if ($word =~ /^--(.*)/s) {
        my ($name, $value) = split /=/, $1, 2;
        my $role = $long{$name} or usage();
        usage() if $flag{$role} ? defined $value : !defined $value && !@words;
        $chosen{$role} = $flag{$role} ? '' : $value // shift @words;
        next;
    }
    my $letters = substr $word, 1;
    while ($letters ne '') {
        my $role = $short{substr $letters, 0, 1, ''} or usage();
        $chosen{$role} = '';
        next if $flag{$role};
        usage() if $letters eq '' && !@words;
        $chosen{$role} = $letters ne '' ? $letters : shift @words;
        $letters = '';
    }
}
for my $role (qw(head width field)) {
    next if !exists $chosen{$role};
    usage() if $chosen{$role} !~ /^[0-9]+\z/ || $chosen{$role} == 0;
}
usage() if length($chosen{delimiter} // 'x') != 1;

my ($code, @lines) = (0);
for my $name (@words ? @words : '-') {
    my $file;
    if ($name eq '-') { $file = \*STDIN }
    else {
        utf8::encode(my $path = $name);
        if (-d $path || !open $file, '<', $path) {
            print STDERR "$name: cannot be read\n";
            $code = $page{missing};
            next;
        }
    }
    local $/ = undef;
    my $text = <$file> // '';
    utf8::decode($text);
    my @own = split /\n/, $text, -1;
    pop @own if @own && $own[-1] eq '';
    @own = grep { /[^ \t]/ } @own if exists $chosen{blank};
    $#own = $chosen{head} - 1 if exists $chosen{head} && @own > $chosen{head};
    push @lines, @own;
}
if (exists $chosen{field}) {
    my $mark = quotemeta($chosen{delimiter} // "\t");
    $_ = (split /$mark/, $_, -1)[$chosen{field} - 1] // '' for @lines;
}
if (exists $chosen{width}) { $_ = substr $_, 0, $chosen{width} for @lines }
if (exists $chosen{upper}) { $_ = uc for @lines }
if (exists $chosen{number}) { my $count = 0; $_ = ++$count . "\t$_" for @lines }
@lines = reverse @lines if exists $chosen{reverse};
my $out = exists $chosen{join} ? join($chosen{join}, @lines) . "\n" : join '', map { "$_\n" } @lines;
utf8::encode($out);
print $out if @lines;
exit $code;

# perl_truth.pl MS [threads|deep N]: for MS (deep: of CPU time), call work() below functions,
# closures, and everything that calls Perl code: sort, tie, overloading, destructors, signals,
# patterns, XS; in evals, files and all kinds of blocks, and after exceptions. Prints "stack
# F:LINE;F;..." for each stack in which work() was called, outermost function first, as caller()
# reports it. Evaluated strings and work() have no line; eval {} is a block of its function.
use strict;
use warnings;
use feature qw(try defer say);
no warnings qw(experimental recursion);
use List::Util qw(first reduce sum);
use Time::HiRes qw(clock time ualarm);

my (%stacks, $end);
my $calls = 0;
my ($ms, $how, $depth) = @ARGV;

sub note_stack
{
	my (@names, $line);
	for (my $i = 1; my @frame = caller($i); $i++) {
		my ($sub, $text, $is_file) = @frame[3, 6, 7];
		if ($sub eq '(eval)' && !defined $text) {
			$line //= $frame[2];
			next;
		}
		$sub = $text =~ /\.do$/ ? '(do)' : '(require)' if $is_file;
		push @names, $sub . (defined $line && $sub ne '(eval)' ? ":$line" : '');
		$line = $frame[2];
	}
	# There is no main program before its start, after its end, and in threads.
	push @names, "(main):$line" if $line && !($how && $how eq 'threads');
	$stacks{join ';', reverse @names} = 1;
}

sub work
{
	my $n = shift;
	my $x = 0;
	# caller() takes long if stacks are deep, and these are only two different ones.
	note_stack() unless $how && $how eq 'deep' && (caller 1)[3] eq 'main::deep' && $calls++ > 1;
	$x = ($x * 31 + $_) % 1000003 for 1 .. $n;
	return $x;
}

INIT { work(20000); }
END { work(20000); print map { "stack $_\n" } keys %stacks }

package Counter;
sub TIESCALAR { my $n = 0; bless \$n }
sub FETCH { my $self = shift; main::work(3000); $$self }
sub STORE { my ($self, $n) = @_; eval { main::work(3000) }; main::work(2000); $$self = $n }

package Number;
use overload '+' => \&add, '""' => sub { main::work(2000); ${$_[0]} },
	'<=>' => sub { main::work(300); (${$_[0]} <=> (ref $_[1] ? ${$_[1]} : $_[1])) * ($_[2] ? -1 : 1) };
sub new { my ($class, $n) = @_; bless \$n, $class }
sub add { my ($left, $right) = @_; main::work(3000); Number->new($$left + (ref $right ? $$right : $right)) }
sub DESTROY { main::work(500); eval { main::work(300); 1 }; main::work(200) }
our $AUTOLOAD;
sub AUTOLOAD { main::work(3000); return $AUTOLOAD }

package Later;
our @ISA = ('Number');
sub add { my $self = shift; main::work(1000); $self->SUPER::add(@_) }
sub jumps { goto &main::work }

package main;

sub deep { my $left = shift; return $left ? deep($left - 1) : work(30000) }
sub closures { my @subs = map { my $n = $_; sub { work(2000) + $n } } 1 .. 3; $_->() for @subs }
sub by_name { $a <=> $b + 0 * work(200) }
sub sorted { my @s = sort by_name 3, 1, 2, 5, 4; @s = sort { work(200); $a <=> $b } @s; @s }
sub sorted_tail { my @s = sort { compares($a, $b) } 3, 1, 2, 5, 4; @s }
sub compares { work(300); $_[0] <=> $_[1] }
sub sorted_eval { my @s = sort { eval { work(200) }; work(200); $a <=> $b } 3, 1, 2; @s }
sub sorted_objects { my @s = sort { $a <=> $b } map { Number->new($_) } 3, 1, 2; scalar @s }
sub maps { sum(map { work(1000) } 1 .. 3) + grep { work(1000) } 1 .. 3 }
sub evaluated { my $n = eval 'work(5000); 1 + eval q(work(5000))'; $n + evaluated_sub() }
sub evaluated_sub { my $sub = eval 'sub { work(3000) }'; $sub->() }
sub blocks { my $n = eval { eval { work(3000) }; work(3000) }; try { work(3000); die 1 } catch ($e) { work(3000) } $n }
sub deferred { defer { late() } work(3000) }
sub late { work(3000) }
sub fails { work(3000); die { why => 'x' } }
sub caught { eval { fails(); 1 } or work(3000); local $@; eval { eval { fails() }; die }; work(3000) }
sub warned { local $SIG{__WARN__} = sub { work(3000) }; warn 'x'; local $SIG{__DIE__} = sub { work(3000) }; eval { die 'x' } }
sub tied_to { tie my $n, 'Counter'; $n = 3; my $m = $n + 1; untie $n; $m }
sub objects { my $n = Later->new(3) + 4; my $m = "$n"; Number->new(3)->missing; Later::jumps(3000) }
sub firsts { my $n = first { work(1000); $_ > 2 } 1 .. 3; $n + reduce { work(1000); $a + $b } 1 .. 4 }
sub firsts_eval { first { eval { work(500) }; work(500); $_ > 2 } 1 .. 3 }
sub patterns { my $n = 0; 'aab' =~ /^(?:a(?{ $n += work(1000) }))*b/; (my $s = 'aab') =~ s/a/work(1000) . 'b'/ge; $n }
sub signalled { my $n = 0; local $SIG{ALRM} = sub { work(3000); $n++ }; ualarm(300); work(3000) until $n; $n }
sub files { my ($pm, $do) = @_; delete $INC{$pm}; require $pm; do $do }
sub shadowed { no strict 'refs'; my $name = 'wo' . 'rk'; no warnings; local *alias = \&$name; &{"alias"}(3000); &$name(3000) }
sub grows { my %h = map { $_ => [1 .. 20] } 1 .. 300; my $s = join ',', map { "@{$h{$_}}" } keys %h; work(2000); length $s }
my $anon = sub { work(3000) };

sub run_all
{
	my ($pm, $do) = @_;
	deep(60);
	closures();
	sorted();
	sorted_tail();
	sorted_eval();
	sorted_objects();
	maps();
	evaluated();
	blocks();
	deferred();
	caught();
	warned();
	tied_to();
	objects();
	firsts();
	firsts_eval();
	patterns();
	signalled() unless $how;
	files($pm, $do);
	shadowed();
	grows();
	$anon->();
}

sub run_until
{
	my ($pm, $do) = @_;
	$end = time + $ms / 1000;
	run_all($pm, $do) while time < $end;
	return join "\n", keys %stacks;
}

my $folder = "/tmp/perl_truth.$$";
mkdir $folder;
unshift @INC, $folder;
sub put { open my $file, '>', $_[0] or die; print $file $_[1]; close $file }
put("$folder/Truth$$.pm", "package Truth;\nmain::work(3000);\nBEGIN { main::work(3000) }\nsub f { main::work(2000) }\nf();\n1;\n");
put("$folder/truth.do", "main::work(3000);\nmy \$x = sub { main::work(3000) };\n\$x->();\n");
my @files = ("Truth$$.pm", "$folder/truth.do");
if (!$how) {
	run_until(@files);
} elsif ($how eq 'threads') {
	require threads;
	my @threads = map { threads->create(sub { run_until(@files) }) } 1 .. 3;
	my %all = map { $_ => 1 } map { split /\n/, $_->join } @threads;
	print map { "stack $_\n" } keys %all;
	%stacks = ();
} else {
	$end = clock() + $ms / 1000;
	while (clock() < $end) {
		deep($depth);
		eval { deep($depth / 2) };
	}
}
unlink "$folder/Truth$$.pm", "$folder/truth.do";
rmdir $folder;

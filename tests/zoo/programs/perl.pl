# SPDX-License-Identifier: MIT
# heavy() does twice light()'s work, 51 frames of deep() below.
use strict; use warnings;
sub spin { my $n = shift; my $x = 1; for (my $i = 0; $i < $n; $i++) { $x = ($x * 110351 + $i) & 0x3fffffff } $x }
sub heavy { spin(2 * $_[0]) >> 1 }
sub light { spin($_[0]) >> 2 }
sub deep { my ($d, $n) = @_; $d ? deep($d - 1, $n) >> 1 : heavy($n) ^ light($n) }
my $sum = 0;
$sum += deep(50, 10000 + $_ % 97 * 100) for 1 .. 400;
print "$sum\n";

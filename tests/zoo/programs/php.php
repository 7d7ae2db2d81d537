<?php // SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() below.
function spin($n) { $x = 1; for ($i = 0; $i < $n; $i++) $x = ($x * 1103515245 + $i) & 0x3fffffff; return $x; }
function heavy($n) { return spin(2 * $n) >> 1; }
function light($n) { return spin($n) >> 2; }
function deep($d, $n) { return $d ? deep($d - 1, $n) >> 1 : heavy($n) ^ light($n); }
$sum = 0;
for ($i = 0; $i < 500; $i++) $sum += deep(50, 55000 + $i % 97 * 550);
echo $sum, "\n";

# SPDX-License-Identifier: MIT
# heavy does twice light's work, 51 frames of deep below.
proc spin n { set x 1; for {set i 0} {$i < $n} {incr i} {set x [expr {($x * 1103515245 + $i) & 0x3fffffff}]}; return $x }
proc heavy n { expr {[spin [expr {2 * $n}]] >> 1} }
proc light n { expr {[spin $n] >> 2} }
proc deep {d n} { expr {$d ? [deep [expr {$d - 1}] $n] + 1 : [heavy $n] ^ [light $n]} }
set sum 0
for {set i 0} {$i < 400} {incr i} { incr sum [deep 50 [expr {10000 + $i}]] }
puts $sum

(* SPDX-License-Identifier: MIT
   heavy does twice light's work, 51 frames of deep below; with arguments in two threads. *)
let[@inline never] spin n = let x = ref 1 in for i = 1 to n do x := (!x * 1103515245 + i) land 0x3fffffff done; !x
let[@inline never] heavy n = spin (2 * n) lsr 1
let[@inline never] light n = spin n lsr 2
let rec deep d n = if d > 0 then deep (d - 1) n + 1 else heavy n lxor light n
let turns count = let sum = ref 0 in for i = 1 to count do sum := !sum + deep 50 (210000 + i mod 97 * 2100) done; !sum

(* SPDX-License-Identifier: MIT *)
let () = Printf.printf "%d\n" (Ocaml.turns 1000)

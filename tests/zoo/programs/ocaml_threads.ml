(* SPDX-License-Identifier: MIT *)
let () = List.iter Thread.join (List.init 2 (fun _ -> Thread.create (fun () -> ignore (Ocaml.turns 500)) ()))
let () = print_endline "joined"

{ SPDX-License-Identifier: MIT
  heavy does twice light's work, 51 frames of deep below. }
program split;
function spin(n: qword): qword; var i, x: qword; begin x := n; for i := 1 to n do x := x * 1103515245 + i; spin := x end;
function heavy(n: qword): qword; begin heavy := spin(2 * n) shr 1 end;
function light(n: qword): qword; begin light := spin(n) shr 2 end;
function deep(d: integer; n: qword): qword;
begin if d > 0 then deep := deep(d - 1, n) shr 1 else deep := heavy(n) xor light(n) end;
var i: integer; sum: qword;
begin sum := 0; for i := 1 to 400 do sum := sum + deep(50, 700000 + i mod 97 * 7000); writeln(sum) end.

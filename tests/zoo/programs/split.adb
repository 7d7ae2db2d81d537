-- SPDX-License-Identifier: MIT
-- Heavy does twice Light's work, 51 frames of Deep below a task.
with Ada.Text_IO; use Ada.Text_IO;
with Interfaces;  use Interfaces;
procedure Split is
   function Spin (N : Unsigned_64) return Unsigned_64 is
      X : Unsigned_64 := N;
   begin
      for I in 1 .. N loop X := X * 6364136223846793005 + I; end loop;
      return X;
   end Spin;
   function Heavy (N : Unsigned_64) return Unsigned_64 is (Shift_Right (Spin (2 * N), 1));
   function Light (N : Unsigned_64) return Unsigned_64 is (Shift_Right (Spin (N), 2));
   function Deep (D : Natural; N : Unsigned_64) return Unsigned_64 is
     (if D > 0 then Shift_Right (Deep (D - 1, N), 1) else Heavy (N) xor Light (N));
   pragma No_Inline (Spin); pragma No_Inline (Heavy); pragma No_Inline (Light); pragma No_Inline (Deep);
   task Worker;
   task body Worker is
      Sum : Unsigned_64 := 0;
   begin
      for I in Unsigned_64 range 1 .. 400 loop Sum := Sum + Deep (50, 700_000 + I mod 97 * 7_000); end loop;
      Put_Line (Sum'Image);
   end Worker;
begin null; end Split;

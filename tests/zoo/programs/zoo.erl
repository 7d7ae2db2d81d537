%% SPDX-License-Identifier: MIT
%% heavy() does twice light()'s work, 51 frames of deep() below turns().
-module(zoo).
-export([main/0]).
spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 1103515245 + N) band 16#3fffff).
heavy(N) -> spin(2 * N, 1) bsr 1.
light(N) -> spin(N, 1) bsr 2.
deep(0, N) -> heavy(N) bxor light(N);
deep(D, N) -> deep(D - 1, N) + 1.
turns(0, Sum) -> Sum;
turns(I, Sum) -> turns(I - 1, Sum + deep(50, 210000 + I rem 97 * 2100)).
main() -> io:format("~w~n", [turns(1000, 0)]), halt().

% SPDX-License-Identifier: MIT
% heavy does twice light's work, 51 frames of deep below.
spin(0, X, X) :- !.
spin(N, X, Y) :- Z is (X * 1103515245 + N) /\ 0x3fffffff, M is N - 1, spin(M, Z, Y).
heavy(N, Y) :- M is 2 * N, spin(M, 1, X), Y is X >> 1.
light(N, Y) :- spin(N, 1, X), Y is X >> 2.
deep(0, N, Y) :- !, heavy(N, A), light(N, B), Y is A xor B.
deep(D, N, Y) :- E is D - 1, deep(E, N, X), Y is X + 1.
turns(0, S, S) :- !.
turns(I, S, T) :- N is 3500 + I mod 97 * 35, deep(50, N, Y), R is S + Y, J is I - 1, turns(J, R, T).
:- initialization((turns(300, 0, S), print(S), nl, halt), main).

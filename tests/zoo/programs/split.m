% SPDX-License-Identifier: MIT
% heavy() does twice light()'s work, 51 frames of deep() below.
1;
function x = spin(n) x = 1; for i = 1:n x = mod(x * 16807 + i, 2147483647); end; end
function x = heavy(n) x = floor(spin(2 * n) / 2); end
function x = light(n) x = floor(spin(n) / 4); end
function x = deep(d, n) if d > 0 x = deep(d - 1, n) + 1; else x = heavy(n) + light(n); end; end
total = 0; for i = 1:200 total += deep(50, 2000 + i); end
printf("%d\n", total);

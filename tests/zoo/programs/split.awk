# SPDX-License-Identifier: MIT
# heavy() does twice light()'s work, 51 frames of deep() below.
function spin(n,    x, i) { x = 1; for (i = 0; i < n; i++) x = (x * 16807 + i) % 2147483647; return x }
function heavy(n) { return int(spin(2 * n) / 2) }
function light(n) { return int(spin(n) / 4) }
function deep(d, n) { return d ? deep(d - 1, n) + 1 : heavy(n) + light(n) }
BEGIN { for (turn = 0; turn < 400; turn++) sum += deep(50, 15000 + turn); print sum }

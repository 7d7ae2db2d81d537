// SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() below.
function spin(n) { let x = 1; for (let i = 0; i < n; i++) x = (Math.imul(x, 1103515245) + i) | 0; return x; }
function heavy(n) { return spin(2 * n) >> 1; }
function light(n) { return spin(n) >> 2; }
function deep(d, n) { return d > 0 ? deep(d - 1, n) + 1 : heavy(n) ^ light(n); }
let sum = 0;
for (let i = 0; i < 500; i++) sum += deep(50, 500000 + i % 97 * 5000);
console.log(sum);

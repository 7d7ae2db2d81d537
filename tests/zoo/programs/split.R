# SPDX-License-Identifier: MIT
# heavy() does twice light()'s work, 51 frames of deep() below.
spin <- function(n) { x <- 1; for (i in seq_len(n)) x <- (x * 16807 + i) %% 2147483647; x }
heavy <- function(n) spin(2 * n) %/% 2
light <- function(n) spin(n) %/% 4
deep <- function(d, n) if (d > 0) deep(d - 1, n) + 1 else heavy(n) + light(n)
cat(sum(sapply(1:400, function(i) deep(50, 15000 + i))), "\n")

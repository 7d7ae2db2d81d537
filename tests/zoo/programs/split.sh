# SPDX-License-Identifier: MIT
# heavy does twice light's work, 51 frames of deep below: for any shell of POSIX.
spin() { i=0 x=1; while [ $i -lt $1 ]; do x=$(((x * 16807 + i) % 2147483647)) i=$((i + 1)); done; }
heavy() { spin $((2 * $1)); x=$((x >> 1)); }
light() { spin $1; x=$((x >> 2)); }
deep() { if [ $1 -gt 0 ]; then deep $(($1 - 1)) $2; x=$((x + 1)); else heavy $2; light $2; fi; }
turn=0
while [ $turn -lt 100 ]; do deep 50 $1; turn=$((turn + 1)); done
echo $x

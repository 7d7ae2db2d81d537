// SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() in each of four goroutines.
package main

import ("fmt"; "os"; "runtime/pprof")

//go:noinline
func spin(n uint64) (x uint64) { for i := uint64(0); i < n; i++ { x = x*6364136223846793005 + i }; return }
//go:noinline
func heavy(n uint64) uint64 { return spin(2*n) >> 1 }
//go:noinline
func light(n uint64) uint64 { return spin(n) >> 2 }
//go:noinline
func deep(d int, n uint64) uint64 { if d > 0 { return deep(d-1, n) >> 1 }; return heavy(n) ^ light(n) }
func main() {
	if len(os.Args) > 1 {
		file, _ := os.Create(os.Args[1])
		pprof.StartCPUProfile(file)
		defer pprof.StopCPUProfile()
	}
	sums := make(chan uint64)
	for g := 0; g < 4; g++ {
		go func() { var sum uint64; for i := uint64(0); i < 120; i++ { sum += deep(50, 700000+i%97*7000) }; sums <- sum }()
	}
	fmt.Println(<-sums + <-sums + <-sums + <-sums)
}

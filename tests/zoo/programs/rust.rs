// SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() below main(), or below each of three threads.
/// Keeps the compiler from knowing the value.
fn opaque<T: Copy>(value: T) -> T { unsafe { std::ptr::read_volatile(&value) } }
#[inline(never)]
fn spin(n: u64) -> u64 { (0..n).fold(1, |a: u64, i| a.wrapping_mul(6364136223846793005).wrapping_add(i)) }
#[inline(never)]
fn heavy(n: u64) -> u64 { spin(2 * n) >> 1 }
#[inline(never)]
fn light(n: u64) -> u64 { spin(n) >> 2 }
#[inline(never)]
fn deep(d: u32, n: u64) -> u64 { if d > 0 { deep(opaque(d - 1), n) >> 1 } else { heavy(n) ^ light(n) } }
fn turns(count: u64) -> u64 { (0..count).map(|i| deep(50, 700000 + i % 97 * 7000)).fold(0, u64::wrapping_add) }
fn main() {
    if std::env::args().count() == 1 {
        println!("{}", turns(2100));
        return;
    }
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(|| turns(700))).collect();
    println!("{}", threads.into_iter().fold(0, |sum: u64, t| sum.wrapping_add(t.join().unwrap())));
}

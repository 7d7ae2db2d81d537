// SPDX-License-Identifier: MIT
// An executor polls two kinds of futures, which do heavy()'s and light()'s work below 51 frames of deep().
use std::{collections::VecDeque, future::Future, pin::Pin, sync::Arc, task::{Context, Poll, Wake}};
#[inline(never)]
fn spin(n: u64) -> u64 { (0..n).fold(1, |a: u64, i| a.wrapping_mul(6364136223846793005).wrapping_add(i)) }
struct Yield(bool);
impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}
struct Nobody;
impl Wake for Nobody { fn wake(self: Arc<Self>) {} }
#[inline(never)]
fn heavy(n: u64) -> u64 { spin(2 * n) >> 1 }
#[inline(never)]
fn light(n: u64) -> u64 { spin(n) >> 2 }
async fn work(n: u64, kind: u64) -> u64 { let x = if kind == 0 { heavy(n) } else { light(n) }; Yield(false).await; x }
type Task = Pin<Box<dyn Future<Output = u64>>>;
fn deep(d: u32, n: u64, kind: u64) -> Task {
    Box::pin(async move { if d > 0 { deep(d - 1, n, kind).await >> 1 } else { work(n, kind).await } })
}
fn main() {
    let waker = Arc::new(Nobody).into();
    let mut queue: VecDeque<Task> = (0..5600).map(|i| deep(50, 700000 + i / 2 % 97 * 7000, i % 2)).collect();
    let mut sum = 0u64;
    while let Some(mut task) = queue.pop_front() {
        match task.as_mut().poll(&mut Context::from_waker(&waker)) { Poll::Ready(x) => sum = sum.wrapping_add(x), _ => queue.push_back(task) }
    }
    println!("{}", sum);
}

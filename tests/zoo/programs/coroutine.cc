// SPDX-License-Identifier: MIT
// C++20: main() resumes two generators in turn, of which one is in heavy() and one in light().
#include <coroutine>
#include <cstdint>
#include <cstdio>
#define CALLED [[gnu::noinline]]
static uint64_t sum, size;

struct Task {
	struct promise_type {
		Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};
CALLED void spin(uint64_t n) { for (uint64_t i = 0; i < n; i++) sum = sum * 6364136223846793005u + i; }
Task heavy() { for (;;) { spin(2 * size); co_await std::suspend_always(); } }
Task light() { for (;;) { spin(size); co_await std::suspend_always(); } }
CALLED void deep(int d, Task &task) { d ? deep(d - 1, task) : task.handle.resume(); sum ^= 1; }
int main()
{
	Task both[] = {light(), heavy()};
	for (int i = 0; i < 600; i++) {
		size = 700000 + i / 2 % 97 * 7000;
		deep(50, both[i % 2]);
	}
	printf("%llu\n", (unsigned long long)sum);
}

// SPDX-License-Identifier: MIT
// Worker threads of the kernel read /dev/zero for io_uring; heavy() and light() compute meanwhile.
#include <fcntl.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>

#define CALLED __attribute__((noinline, noclone))
static char buffer[16 << 20];
static uint64_t sum, size;
CALLED void spin(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sum = sum * 6364136223846793005u + i;
}
CALLED void heavy(void)
{
	spin(2 * size), sum++;
}
CALLED void light(void)
{
	spin(size), sum++;
}
CALLED void deep(int d)
{
	d ? deep(d - 1) : (heavy(), light()), sum++;
}
int main(void)
{
	struct io_uring ring;
	int fd = open("/dev/zero", O_RDONLY), whole = 0;
	io_uring_queue_init(8, &ring, 0);
	for (int i = 0; i < 300; i++) {
		struct io_uring_cqe *done;
		if (i % 10 == 0) {
			struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
			io_uring_prep_read(entry, fd, buffer, sizeof(buffer), 0);
			entry->flags |= IOSQE_ASYNC;
			io_uring_submit(&ring);
		}
		size = 700000 + i % 97 * 7000;
		deep(50);
		if (i % 10 == 9) {
			io_uring_wait_cqe(&ring, &done);
			whole += done->res == sizeof(buffer);
			io_uring_cqe_seen(&ring, done);
		}
	}
	printf("%d whole, %llu\n", whole, (unsigned long long)sum);
}

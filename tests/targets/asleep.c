/* SPDX-License-Identifier: MIT */
/*
 * asleep [plant]: threads that sleep forever, one for each combination of a way to wait and a shape
 * of the frame that calls it. Prints "ready" and the number of threads besides the main one, then
 * waits for the end of stdin. With `plant`, each thread first fills its stack with return addresses
 * that follow a call of its shape, and with pointers to such words, so that leftovers in the frame
 * look like the frame's end. Compiles as C and C++.
 */
#include <alloca.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_t main_thread;
static int pipe_fds[2], socket_fds[2], listening, epoll;
static const struct timespec long_time = {100000, 0};
static volatile int sink;
static volatile int always = 1;
static __thread void *volatile return_address; /* of the shape, once it was called */
static __thread volatile int is_rehearsal;

enum wait {
	NANOSLEEP,
	MUTEX,
	COND,
	SEMAPHORE,
	JOIN,
	POLL,
	EPOLL,
	READ_PIPE,
	READ_SOCKET,
	ACCEPT,
	WAIT4,
	PAUSE,
	SIGWAIT,
	SELECT,
	RAW,
	HANDLER,
	WAITS
};

static inline __attribute__((always_inline)) long wait_inline(void)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(SYS_read), "D"(pipe_fds[0]), "S"(&result), "d"(1L)
			 : "rcx", "r11", "memory");
	return result;
#else
	char byte;

	return read(pipe_fds[0], &byte, 1);
#endif
}

static inline __attribute__((always_inline)) void wait_here(int how)
{
	struct pollfd pollfd = {pipe_fds[0], POLLIN, 0};
	struct epoll_event event;
	sigset_t set;
	fd_set fds;
	char byte;
	int number;

	switch (how) {
	case NANOSLEEP:
		nanosleep(&long_time, NULL);
		break;
	case MUTEX:
		pthread_mutex_lock(&mutex);
		break;
	case COND:
		pthread_mutex_lock(&cond_mutex);
		pthread_cond_wait(&cond, &cond_mutex);
		break;
	case SEMAPHORE:
		sem_wait(&semaphore);
		break;
	case JOIN:
		pthread_join(main_thread, NULL);
		break;
	case POLL:
		poll(&pollfd, 1, -1);
		break;
	case EPOLL:
		epoll_wait(epoll, &event, 1, -1);
		break;
	case READ_PIPE:
		sink = (int)read(pipe_fds[0], &byte, 1);
		break;
	case READ_SOCKET:
		sink = (int)recv(socket_fds[0], &byte, 1, 0);
		break;
	case ACCEPT:
		sink = accept(listening, NULL, NULL);
		break;
	case WAIT4:
		wait(NULL);
		break;
	case PAUSE:
		pause();
		break;
	case SIGWAIT:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		sigwait(&set, &number);
		break;
	case SELECT:
		FD_ZERO(&fds);
		FD_SET(pipe_fds[0], &fds);
		select(pipe_fds[0] + 1, &fds, NULL, NULL, NULL);
		break;
	case RAW:
		sink = (int)wait_inline();
		break;
	default:
		raise(SIGUSR1);
		break;
	}
}

/*
 * Begin each shape with this: store the shape's return address, and return at once if this call is
 * only a rehearsal.
 */
#define REHEARSE()                                            \
	do {                                                  \
		return_address = __builtin_return_address(0); \
		if (is_rehearsal)                             \
			return 1;                             \
	} while (0)

/* End each shape with this, so that its last call does not become a jump. */
#define DONE(pointer)                                           \
	do {                                                    \
		__asm__ volatile("" ::"r"(pointer) : "memory"); \
		return sink;                                    \
	} while (0)

typedef int shape_function(int how);

static __attribute__((noinline)) int shape_small(int how)
{
	REHEARSE();
	wait_here(how);
	DONE(&how);
}

static __attribute__((noinline)) int shape_large(int how)
{
	char room[40000];

	REHEARSE();
	room[how] = 1;
	__asm__ volatile("" ::"r"(room) : "memory");
	wait_here(how);
	DONE(room);
}

static __attribute__((noinline)) int shape_alloca(int how)
{
	char *room;

	REHEARSE();
	room = (char *)alloca((size_t)how * 100 + 100);
	__asm__ volatile("" ::"r"(room) : "memory");
	wait_here(how);
	DONE(room);
}

/* alloca() is called in a branch that is not taken. */
static __attribute__((noinline)) int shape_alloca_apart(int how)
{
	char *room = NULL;

	REHEARSE();
	if (!always)
		room = (char *)alloca((size_t)how * 100 + 100);
	__asm__ volatile("" ::"r"(room) : "memory");
	wait_here(how);
	DONE(room);
}

#define SHAPE_ALIGNED(bytes)                                                \
	static __attribute__((noinline)) int shape_aligned_##bytes(int how) \
	{                                                                   \
		char room[300] __attribute__((aligned(bytes)));             \
                                                                            \
		REHEARSE();                                                 \
		__asm__ volatile("" ::"r"(room) : "memory");                \
		wait_here(how);                                             \
		DONE(room);                                                 \
	}

SHAPE_ALIGNED(32)
SHAPE_ALIGNED(64)

/* Pass arguments on the stack: the last arguments of syscall(). */
static __attribute__((noinline)) int shape_pushes(int how)
{
	struct pollfd pollfd = {pipe_fds[0], POLLIN, 0};

	REHEARSE();
	syscall(SYS_ppoll, &pollfd, 1L, NULL, NULL, (long)sizeof(long), (long)how);
	DONE(&pollfd);
}

static __attribute__((noinline)) int add_up(int a, int b, int c, int d, int e, int f, int g, int h,
	int i, int j, struct timespec time, long k)
{
	return a + b + c + d + e + f + g + h + i + j + (int)time.tv_sec + (int)k;
}

/*
 * Call functions with stack arguments before and after the wait. One call is an argument of
 * another.
 */
static __attribute__((noinline)) int shape_arguments(int how)
{
	REHEARSE();
	if (always)
		sink = add_up(1, 2, 3, 4, 5, 6, 7, how, sink, 10, long_time, 12);
	wait_here(how);
	sink += add_up(1, 2, 3, 4, 5, 6,
		how > 3 ? sink : add_up(1, 2, 3, 4, 5, 6, 7, 8, how, 10, long_time, sink), 8, 9,
		sink, long_time, 7);
	if (sink == 3)
		abort();
	DONE(&how);
}

static __attribute__((noinline)) int shape_loop(int how)
{
	REHEARSE();
	for (int i = 0; i < 100 + sink; i++) {
		for (int j = i; j < 10; j++)
			sink = add_up(i, j, 3, 4, 5, 6, 7, 8, 9, 10, long_time, 12);
		if (i == 50)
			wait_here(how);
		else if (always == 2 + i)
			continue;
		sink = 0;
	}
	DONE(&how);
}

static __attribute__((noinline)) int shape_recursive(int how)
{
	int depth = how / 100;

	REHEARSE();
	if (depth)
		sink = shape_recursive(how - 100);
	else
		wait_here(how);
	DONE(&depth);
}

static __attribute__((noinline)) int shape_recursed(int how)
{
	REHEARSE();
	sink = shape_recursive(how + 500);
	DONE(&how);
}

static int compare(const void *a, const void *b)
{
	wait_here(*(const int *)a);
	DONE(b);
}

static __attribute__((noinline)) int shape_callback(int how)
{
	int numbers[3] = {how, how, how};

	REHEARSE();
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	DONE(numbers);
}

#ifdef __cplusplus
struct held {
	volatile int *where;
	~held()
	{
		*where = 0;
	}
};

static __attribute__((noinline)) int throw_it(int how)
{
	if (always)
		throw how;
	return 0;
}

/* Wait in an exception handler: no instruction jumps to its code. */
static __attribute__((noinline)) int shape_caught(int how)
{
	held guard = {&sink};

	REHEARSE();
	try {
		held other = {&sink};

		sink = throw_it(how);
	} catch (int number) {
		wait_here(number);
	}
	DONE(&guard);
}
#endif

static shape_function *const shapes[] = {
	shape_small,
	shape_large,
	shape_alloca,
	shape_alloca_apart,
	shape_aligned_32,
	shape_aligned_64,
	shape_pushes,
	shape_arguments,
	shape_loop,
	shape_recursed,
	shape_callback,
#ifdef __cplusplus
	shape_caught,
#endif
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static int is_planting;

/* Fill the stack below the caller with words that look like the end of the shape's frame. */
static __attribute__((noinline)) void plant(void)
{
	void *volatile words[9000];

	for (unsigned i = 0; i < 9000; i += 2) {
		words[i] = (void *)&words[i];
		words[i + 1] = return_address;
	}
	__asm__ volatile("" ::"r"(words) : "memory");
}

static void *run(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	shape_function *shape = shapes[number / WAITS];

	for (int round = is_planting ? 0 : 1; round < 2; round++) {
		is_rehearsal = !round;
		if (is_planting && round)
			plant();
		sink = shape((int)(number % WAITS));
	}
	return NULL;
}

static void handle(int signal)
{
	char byte;

	sink = signal + (int)read(pipe_fds[0], &byte, 1);
}

static void set_up(void)
{
	struct sockaddr_un address;
	struct sigaction action;
	sigset_t set;

	main_thread = pthread_self();
	sem_init(&semaphore, 0, 0);
	epoll = epoll_create1(0);
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	if (pipe(pipe_fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fds) ||
		bind(listening, (struct sockaddr *)&address, sizeof(sa_family_t)) ||
		listen(listening, 5))
		abort();
	memset(&action, 0, sizeof(action));
	action.sa_handler = handle;
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!fork()) { /* the child that wait() waits for */
		pause();
		_exit(0);
	}
	pthread_mutex_lock(&mutex);
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread;
	char byte;

	is_planting = argc > 1 && !strcmp(argv[1], "plant");
	set_up();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	for (uintptr_t i = 0; i < SHAPES * WAITS; i++)
		if (pthread_create(&thread, &attributes, run, (void *)i))
			abort();
	printf("ready %d\n", (int)(SHAPES * WAITS));
	fflush(stdout);
	sink = (int)read(0, &byte, 1);
	kill(0, SIGKILL);
}

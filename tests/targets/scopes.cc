/* SPDX-License-Identifier: MIT */
/*
 * scopes WAY: as scopes.c, for the ways to leave a block that only C++ has. Built as C++17 the
 * program uses the class, built as C++20 the macro with designated initializers.
 */
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "flameprof_scope.h"
#include "tests/targets/spin.h"

static std::string picture;

static void burn(int ms)
{
	spin_until(cpu_ns() + static_cast<uint64_t>(ms) * 1000000);
}

BOX static void inside()
{
	burn(100);
	__asm__ volatile("");
}

/* A nop makes the code differ from inside(), because the compiler would merge equal functions. */
BOX static void outside()
{
	burn(33);
	__asm__ volatile("nop");
}

#if __cplusplus >= 202002L
#define SCOPE() FLAMEPROF_SCOPE_AS(scope, picture.c_str(), .rate = 997, .title = "ways out")
#else
static flameprof_options options()
{
	flameprof_options fast;

	fast.rate = 997;
	fast.title = "ways out";
	return fast;
}
#define SCOPE() FLAMEPROF_SCOPE_AS(scope, picture.c_str(), options())
#endif

BOX static void throws()
{
	SCOPE();
	inside();
	throw std::runtime_error("thrown");
}

BOX static void is_caught_outside()
{
	try {
		throws();
	} catch (const std::exception &error) {
		std::printf("caught 1\n");
	}
}

/* An exception that is thrown and caught inside the scope does not end it. */
BOX static void is_caught_inside()
{
	SCOPE();
	try {
		throw std::runtime_error("thrown");
	} catch (const std::exception &error) {
		std::printf("status %d\n", scope.status());
	}
	inside();
	std::printf("end %d\n", scope.end());
	outside();
}

static void *leaves(void *)
{
	SCOPE();
	inside();
	pthread_exit(nullptr);
}

static void exits_thread()
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, leaves, nullptr) || pthread_join(thread, nullptr))
		std::abort();
}

/* A scope on the heap: one thread makes it and ends, another thread ends the scope. */
static flameprof_scope *kept;

static void *makes(void *)
{
	flameprof_options fast;

	fast.rate = 997;
	kept = new flameprof_scope(picture.c_str(), fast);
	return nullptr;
}

static void hands_over()
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, makes, nullptr) || pthread_join(thread, nullptr))
		std::abort();
	std::printf("status %d\n", kept->status());
	inside();
	delete kept;
	outside();
}

BOX static void terminates()
{
	SCOPE();
	inside();
	std::abort();
}

int main(int argc, char **argv)
{
	const std::string way = argc > 1 ? argv[1] : "throw";

	picture = way + ".folded";
	outside();
	if (way == "throw")
		is_caught_outside();
	else if (way == "inside")
		is_caught_inside();
	else if (way == "thread")
		exits_thread();
	else if (way == "heap")
		hands_over();
	else if (way == "abort")
		terminates();
	outside();
	flameprof_scope_report last;
	if (!flameprof_scope_last(&last))
		std::printf("error %d\nleft %d\n", last.error, static_cast<int>(last.left));
	return 0;
}

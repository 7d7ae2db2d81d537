/* SPDX-License-Identifier: MIT */
/* Recognise files of other programs by their first bytes, and no folded stacks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/formats/foreign.h"

/* Returns the result for @text, in a buffer of its exact size, for sanitizers. */
static int refuse(const char *text, size_t bytes, struct diag_message *message)
{
	char *exact = malloc(bytes + !bytes);
	int error;

	memcpy(exact, text, bytes);
	*message = (struct diag_message){0};
	error = foreign_refuse(exact, bytes, "x", message);
	free(exact);
	return error;
}

/* The beginnings are those of files that these programs have written. */
static void test_other_files_are_named(void **state)
{
#define FILE_OF(what, text)                  \
	{                                    \
		what, text, sizeof(text) - 1 \
	}
	static const struct {
		const char *what, *text;
		size_t bytes;
	} files[] = {
		FILE_OF("a PNG picture", "\x89PNG\r\n\x1a\n"),
		FILE_OF("an SVG picture or other XML", "<?xml version=\"1.0\"?>\na 1\n"),
		FILE_OF("a PDF document", "%PDF-1.7\n12 0 obj 1\n"),
		FILE_OF("a recording of perf", "PERFILE2\x68\0\0"),
		FILE_OF("a program, library or core dump", "\177ELF\2\1\1\0"),
		FILE_OF("gzip data", "\x1f\x8b\x08 1\n"),
		FILE_OF("a profile of gprof (gmon.out)", "gmon\1\0\0\0\0\0\0\0"),
		FILE_OF("a profile of callgrind", "# callgrind format\nversion: 1\n"),
		FILE_OF("a profile of callgrind", "version: 1\ncreator: callgrind-3.19.0\n"),
		FILE_OF("a profile of Xdebug", "version: 1\ncreator: xdebug 3.2.0 (PHP 8.2.5)\n"),
		FILE_OF("a profile of cachegrind",
			"desc: I1 cache:         32768 B\ncmd: true\nevents: Ir I1mr\n"),
		FILE_OF("a profile of massif", "desc: (none)\ncmd: true\ntime_unit: i\n"),
		FILE_OF("a profile of DHAT", "{\"dhatFileVersion\":2\n,\"mode\":\"heap\""),
		FILE_OF("a profile of Python (cProfile, pstats)", "\xfb)\3\xfa\4a.py\xe9\1\0\0\0"),
		FILE_OF("a recording of Java's Flight Recorder (JFR)", "FLR\0\0\2\0\1"),
		FILE_OF("a heap dump of Java (HPROF)", "JAVA PROFILE 1.0.2\0"),
		FILE_OF("a recording of heaptrack", "v 10500 3\nX /bin/true\nI 1000 5dd1\n"),
		FILE_OF("a text profile of Go", "goroutine profile: total 1\n1 @ 0x45 0x46\n"),
		FILE_OF("a text profile of Go", "heap profile: 1: 16 [2: 32] @ heap/1048576\n"),
		FILE_OF("a heap profile of gperftools",
			"heap profile: 1: 16 [2: 32] @ heapprofile\n"),
		FILE_OF("a heap profile of jemalloc", "heap_v2/524288\n  t*: 1: 16 [0: 0]\n"),
		FILE_OF("what bpftrace prints", "Attaching 1 probe...\n\n@[\n    work+16\n]: 42\n"),
		FILE_OF("what bpftrace prints", "@[\n    work+16\n    main+32\n]: 42\n"),
		FILE_OF("a CPU profile of V8", "{\"nodes\":[{\"id\":1,\"callFrame\":{"),
		FILE_OF("trace events", "[{\"name\":\"a\",\"ph\":\"X\"}]"),
		FILE_OF("JSON of another program", "{\"nodes\": [\n1\n"),
		FILE_OF("JSON of another program", "{\n  \"a\": 1\n}\n"),
		FILE_OF("a log", "2026-11-28 04:00:01 INFO started pid 4242\n"),
		FILE_OF("a log", "[2026-11-28T04:00:01Z] served in 17\n"),
		FILE_OF("a log", "started\n2026-11-28 04:00:02 served in 17\n"
				 "2026-11-28 04:00:03 slow request 230\n"),
		FILE_OF("a log", "Nov  8 04:00:01 host sshd[17]: port 22\n"),
	};
	struct diag_message message;
	char wanted[128];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(refuse(files[i].text, files[i].bytes, &message), -ENODATA);
		snprintf(wanted, sizeof(wanted), "'x' is %s, which flamerun does not read",
			files[i].what);
		assert_string_equal(message.text, wanted);
	}
}

static void test_functions_may_be_called_alike(void **state)
{
	static const char *const stacks[] = {"", "<svg::Node as Clone>::clone;f 1\n",
		"{closure#0};f 1\n", "{lambda};{x 12\n", "[unsampled] 3\n", "PERFILE 3\n", "%P 3\n",
		"gmon;main 3\n", "memray;main 3\n", "version: 1\n", "desc: 3\n", "go 1\n", "v 1\n",
		"@plt;main 1\n", "# austin: 3.6.0\nP1;T1;main 5\n", "2026-11-28;main 4\n",
		"Nov;main 4\n", "main 1\n<?xml version=\"1.0\"?>\n"};
	struct diag_message message;

	(void)state;
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		assert_int_equal(refuse(stacks[i], strlen(stacks[i]), &message), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_files_are_named),
		cmocka_unit_test(test_functions_may_be_called_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

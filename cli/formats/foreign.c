/* SPDX-License-Identifier: MIT */
#include "cli/formats/foreign.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define PICTURE "write stacks beside a picture: flamerun -o run.svg -o run.folded -- program"
#define PACKED	"unpack it first"
#define CALLS	"it has no stacks; profile again: flamerun -- program"
#define GO_TEXT "fetch it without debug=1: curl -o run.pb.gz http://HOST/debug/pprof/..."
#define JEPROF	"convert it: jeprof --collapsed PROGRAM FILE >run.folded"
#define PPROF	"convert it: google-pprof --collapsed PROGRAM FILE >run.folded"
#define BPFTRACE                                                                  \
	"convert it: stackcollapse-bpftrace.pl FILE >run.folded (of FlameGraph, " \
	"github.com/brendangregg)"
#define HEAPTRACK "convert it: heaptrack_print -f FILE -F run.folded"

/* The number of bytes of a literal, which may contain NULs. */
#define BYTES(text) (text), sizeof(text) - 1

/*
 * A kind of file. It begins with `begin`, and `has` (NULL: nothing) is in its first bytes. The
 * first row that fits is used. `hint` may be NULL.
 */
static const struct kind {
	const char *what, *hint;
	const char *begin;
	size_t begin_bytes;
	const char *has;
} kinds[] = {
	{"a PNG picture", PICTURE, BYTES("\x89PNG"), NULL},
	{"a PDF document", PICTURE, BYTES("%PDF-"), NULL},
	{"an SVG picture or other XML", PICTURE, BYTES("<?xml"), NULL},
	{"an SVG picture", PICTURE, BYTES("<svg "), NULL},
	{"XML or HTML", PICTURE, BYTES("<!--"), NULL},
	{"XML or HTML", PICTURE, BYTES("<!DOCTYPE"), NULL},
	{"HTML", PICTURE, BYTES("<html"), NULL},
	{"gzip data", PACKED, BYTES("\x1f\x8b"), NULL},
	{"bzip2 data", PACKED, BYTES("BZh"), NULL},
	{"xz data", PACKED, BYTES("\3757zXZ"), NULL},
	{"zstd data", PACKED ", or, if heaptrack wrote it: heaptrack_print -f FILE -F run.folded",
		BYTES("\x28\xb5\x2f\xfd"), NULL},
	{"a zip archive", PACKED, BYTES("PK\x03\x04"), NULL},
	{"a recording of perf", "perf reads it, by its name: flamerun render perf.data",
		BYTES("PERFILE2"), NULL},
	{"what perf report prints", "draw the recording: flamerun render perf.data",
		BYTES("# To display the perf.data header info"), NULL},
	{"a program, library or core dump", "to run and draw a program: flamerun -- ./program",
		BYTES("\177ELF"), NULL},
	{"a profile of gprof (gmon.out)", CALLS, BYTES("gmon\1\0\0\0"), NULL},
	{"a profile of callgrind", CALLS, BYTES("# callgrind format"), NULL},
	{"a profile of callgrind", CALLS, BYTES("version: "), "\ncreator: callgrind"},
	{"a profile of Xdebug", CALLS, BYTES("version: "), "\ncreator: xdebug"},
	{"a profile of massif", "ms_print prints it", BYTES("desc: "), "\ntime_unit: "},
	{"a profile of cachegrind", CALLS, BYTES("desc: "), "\nevents: "},
	{"a profile of Python (cProfile, pstats)", CALLS, BYTES("\xfb)\x03"), NULL},
	{"a profile of Python (cProfile, pstats)", CALLS, BYTES("{(\x03"), NULL},
	{"a recording of Java's Flight Recorder (JFR)",
		"convert it: jfrconv -o collapsed FILE run.folded (of async-profiler)",
		BYTES("FLR\0"), NULL},
	{"a heap dump of Java (HPROF)", "it has objects, not stacks", BYTES("JAVA PROFILE 1.0"),
		NULL},
	{"a recording of heaptrack", HEAPTRACK, BYTES("v "), "\nX "},
	{"a recording of memray", "memray flamegraph FILE draws it", BYTES("memray\0"), NULL},
	{"a binary recording of austin", "convert it: mojo2austin FILE run.folded", BYTES("MOJ\3"),
		NULL},
	{"a recording of .NET (nettrace)",
		"convert it: dotnet-trace convert --format Speedscope FILE", BYTES("Nettrace"),
		NULL},
	{"a raw profile of LLVM (profraw)", CALLS, BYTES("\x81rforpl\xff"), NULL},
	{"a recording of trace-cmd", NULL,
		BYTES("\x17\x08"
		      "Dtracing"),
		NULL},
	{"a trace of Go", "convert it: go tool trace -pprof=sched FILE >run.pb", BYTES("go 1."),
		" trace"},
	{"a text profile of Go", GO_TEXT, BYTES("goroutine profile: total "), NULL},
	{"a text profile of Go", GO_TEXT, BYTES("threadcreate profile: total "), NULL},
	{"a text profile of Go", GO_TEXT, BYTES("heap profile: "), "@ heap/"},
	{"a text profile of Go", GO_TEXT, BYTES("--- contention:"), NULL},
	{"a text profile of Go", GO_TEXT, BYTES("--- mutex:"), NULL},
	{"a list of Go's goroutines", GO_TEXT, BYTES("goroutine "), " [running]:"},
	{"a heap profile of gperftools", PPROF, BYTES("heap profile: "), NULL},
	{"a CPU profile of gperftools", PPROF, BYTES("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"), NULL},
	{"a heap profile of jemalloc", JEPROF, BYTES("heap_v2/"), NULL},
	{"what bpftrace prints", BPFTRACE, BYTES("Attaching "), "\n@"},
	{"what bpftrace prints", BPFTRACE, BYTES("@"), "\n]: "},
	{"a profile of DHAT", "dh_view.html of valgrind shows it", BYTES("{"),
		"\"dhatFileVersion\""},
	{"a CPU profile of V8", "speedscope.app shows it; or: flamerun -- node script.js",
		BYTES("{"), "\"callFrame\""},
	{"a profile of the Firefox Profiler", "profiler.firefox.com shows it", BYTES("{"),
		"\"preprocessedProfileVersion\""},
	{"a profile of the Firefox Profiler", "profiler.firefox.com shows it", BYTES("{"),
		"\"stackTable\""},
	{"a profile of pyinstrument", "convert it: pyinstrument -r speedscope --load FILE",
		BYTES("{"), "\"root_frame\""},
	{"trace events", "ui.perfetto.dev shows them", BYTES("{"), "\"traceEvents\""},
	{"trace events", "ui.perfetto.dev shows them", BYTES("["), "\"ph\""},
	{"flamerun's table of functions, without stacks", PICTURE, BYTES("{"), "\"flamerun\": "},
	{"JSON of another program", NULL, BYTES("{\""), NULL},
	{"JSON of another program", NULL, BYTES("{ \""), NULL},
	{"JSON of another program", NULL, BYTES("{\n"), NULL},
	{"JSON of another program", NULL, BYTES("{\r"), NULL},
	{"JSON of another program", NULL, BYTES("[{"), NULL},
	{"JSON of another program", NULL, BYTES("[\n"), NULL},
};

static bool fits(const struct kind *kind, const char *text, size_t bytes)
{
	return bytes >= kind->begin_bytes && !memcmp(text, kind->begin, kind->begin_bytes) &&
	       (!kind->has || memmem(text, bytes, kind->has, strlen(kind->has)));
}

/* Does @text have @form, in which 9 is a digit and a is a letter? */
static bool has_form(const char *text, size_t bytes, const char *form)
{
	size_t i;

	for (i = 0; i < bytes && form[i]; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';
		bool is_letter = (text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z';

		if (form[i] == '9' ? !is_digit : form[i] == 'a' ? !is_letter : text[i] != form[i])
			return false;
	}
	return !form[i];
}

/* Does @text begin with a time? */
static bool has_time(const char *text, size_t bytes)
{
	static const char *const forms[] = {"9999-99-99 99:99", "9999-99-99T99:99",
		"9999/99/99 99:99", "[9999-99-99", "[9999/99/99", "aaa 99 99:99:99",
		"aaa  9 99:99:99", "99:99:99"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (has_form(text, bytes, forms[i]))
			return true;
	return false;
}

/* Do most lines begin with a time, as those of a log do? All of its lines may end in a number. */
static bool is_log(const char *text, size_t bytes)
{
	const char *end = text + bytes;
	size_t lines = 0, times = 0;

	while (text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));

		lines++;
		times += has_time(text, (size_t)((line_end ? line_end : end) - text));
		text = line_end ? line_end + 1 : end;
	}
	return times > lines / 2;
}

static int refuse(
	const char *what, const char *hint, const char *name, struct diag_message *message)
{
	diag_fail(message, -ENODATA, "'%s' is %s, which flamerun does not read", name, what);
	if (hint)
		diag_fail_hint(message, "%s", hint);
	return -ENODATA;
}

int foreign_refuse(const char *text, size_t bytes, const char *name, struct diag_message *message)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (fits(&kinds[i], text, bytes))
			return refuse(kinds[i].what, kinds[i].hint, name, message);
	return is_log(text, bytes) ? refuse("a log", NULL, name, message) : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Give hints for code without function names: a file needs its symbols, and a runtime that
 * generates code must be asked to write names.
 *
 * Words of os-release(5) identify the distribution. Most symbol packages have names that only the
 * distribution's archive knows. A debuginfod server instead finds symbols by the file itself.
 */
#include "cli/run/unnamed_code.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/diag.h"
#include "cli/profile/picture_names.h"

/* ---- symbols from the distribution ----------------------------------------------------------- */

#define LINE_BYTES 1024
#define ANY_SERVER "https://debuginfod.elfutils.org/"

#define RELEASE		  "/etc/os-release"
#define RELEASE_OF_VENDOR "/usr/lib/os-release" /* if the other was removed */

enum installer {
	BY_SERVER,
	BY_APT,
	BY_DNF
};

static const struct distribution {
	const char *word; /* of ID or ID_LIKE */
	enum installer installer;
	const char *server;
} distributions[] = {
	{"debian", BY_APT, "https://debuginfod.debian.net"},
	{"ubuntu", BY_APT, "https://debuginfod.ubuntu.com"},
	{"fedora", BY_DNF, "https://debuginfod.fedoraproject.org/"},
	{"arch", BY_SERVER, "https://debuginfod.archlinux.org"},
	{"opensuse", BY_SERVER, "https://debuginfod.opensuse.org/"},
};

/* Beginnings of the names of glibc's files. On Debian libc6-dbg has their symbols. */
static const char *const of_libc[] = {"libc.so.", "libm.so.", "ld-linux", "libpthread.so.",
	"libdl.so.", "librt.so.", "libresolv.so."};

bool distribution_has(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/"};
	bool is_inside = false;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		is_inside |= !strncmp(path, folders[i], strlen(folders[i]));
	return is_inside && strncmp(path, "/usr/local/", strlen("/usr/local/"));
}

static const struct distribution *find_word(char *line)
{
	for (char *word = strtok(line, "\"' \n"); word; word = strtok(NULL, "\"' \n"))
		for (size_t i = 0; i < sizeof(distributions) / sizeof(*distributions); i++)
			if (!strcmp(word, distributions[i].word))
				return &distributions[i];
	return NULL;
}

/* Find the distribution in os-release. ID is preferred to ID_LIKE, in any order of the lines. */
static struct distribution read_release(const char *path)
{
	const struct distribution *own = NULL, *like = NULL;
	FILE *in = fopen(path, "re");
	char line[LINE_BYTES];

	while (in && fgets(line, sizeof(line), in)) {
		if (!strncmp(line, "ID=", strlen("ID=")))
			own = find_word(line + strlen("ID="));
		else if (!strncmp(line, "ID_LIKE=", strlen("ID_LIKE=")))
			like = find_word(line + strlen("ID_LIKE="));
	}
	if (in)
		fclose(in);
	if (own || like)
		return own ? *own : *like;
	return (struct distribution){.installer = BY_SERVER, .server = ANY_SERVER};
}

/* Find the package of @file's symbols if its name is certain: python3.11-dbg for python3.11. */
static bool find_package(char *out, size_t size, const char *file)
{
	const char *python = strncmp(file, "lib", 3) ? file : file + 3;
	size_t digits;

	for (size_t i = 0; i < sizeof(of_libc) / sizeof(*of_libc); i++)
		if (!strncmp(file, of_libc[i], strlen(of_libc[i])))
			return snprintf(out, size, "libc6-dbg") > 0;
	if (strncmp(python, "python3.", strlen("python3.")))
		return false;
	digits = strspn(python + strlen("python3."), "0123456789");
	return digits && snprintf(out, size, "python3.%.*s-dbg", (int)digits,
				 python + strlen("python3.")) > 0;
}

static const char *release_path(void)
{
	return access(RELEASE, R_OK) ? RELEASE_OF_VENDOR : RELEASE;
}

bool distribution_is_asked(const struct options *options)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	if (!options->debuginfod && options_is_said(options, "debuginfod"))
		return false;
	if (servers && *servers)
		return true;
	return options->debuginfod &&
	       !setenv("DEBUGINFOD_URLS", read_release(release_path()).server, 1);
}

void distribution_symbols_command(
	char *out, size_t size, const char *release, const char *path, bool has_servers)
{
	struct distribution here = read_release(release);
	char package[64];

	if (here.installer == BY_APT && find_package(package, sizeof(package), base_name(path)))
		snprintf(out, size, "apt install %s", package);
	else if (here.installer == BY_DNF)
		snprintf(out, size, "dnf debuginfo-install %s", path);
	else
		snprintf(out, size, "%s%s%sdebuginfod-find debuginfo %s",
			has_servers ? "" : "DEBUGINFOD_URLS=", has_servers ? "" : here.server,
			has_servers ? "" : " ", path);
}

/* ---- code without names ---------------------------------------------------------------------- */

struct module_weight {
	const char *module; /* "" for code of no file */
	uint64_t self;
};

#define NODE_OPTIONS "NODE_OPTIONS"
#define NODE_WRITES  "--perf-basic-prof"
#define NODE_REMEDY  "--jit=node, or node " NODE_WRITES " names what it compiles"
#define JAVA_REMEDY                                                                             \
	"java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer " \
	"names what it compiles"

/* How to make a runtime write perf maps. `module` is the beginning of its file's name. */
static const struct {
	const char *module, *remedy;
} runtimes[] = {
	{"node", NODE_REMEDY},
	{"libnode.so", NODE_REMEDY},
	{"libjvm.so", JAVA_REMEDY},
	{"libcoreclr.so", "DOTNET_PerfMapEnabled=1 in the environment names what it compiles"},
	{"beam.smp", "erl +JPperf true names what it compiles"},
	{"mono-sgen", "mono --jitmap names what it compiles"},
	{"deno", "deno run --v8-flags=" NODE_WRITES " names what it compiles"},
	{"bun", "flamerun cannot read what Bun writes about the code that it compiles"},
	{"pypy3", "PyPy has no switch that names what it compiles"},
	{"libpypy3", "PyPy has no switch that names what it compiles"},
	{"sbcl", "SBCL has no switch that names what it compiles"},
	{"libguile", "Guile has no switch that names what it compiles"},
	{"racket", "Racket has no switch that names what it compiles"},
};

int unnamed_code_ask(const struct options *options)
{
	const char *old = getenv(NODE_OPTIONS);
	char *words;
	int error;

	if (!options_has_word(options->jit, "node") || (old && strstr(old, NODE_WRITES)))
		return 0;
	if (asprintf(&words, "%s%s" NODE_WRITES, old ? old : "", old && *old ? " " : "") < 0)
		return -ENOMEM;
	error = setenv(NODE_OPTIONS, words, 1) ? -errno : 0;
	free(words);
	if (!error)
		diag_info("--jit=node: node is asked to write /tmp/perf-PID.map, and a log where "
			  "it runs, by " NODE_OPTIONS "=" NODE_WRITES);
	return error;
}

/*
 * Returns the module with the most samples that end in unnamed code. @of has room for one element
 * per frame of the tree. Modules are few, so the search is linear.
 */
static struct module_weight find_heaviest(const struct calltree *tree, struct module_weight *of)
{
	struct module_weight worst = {0};
	uint32_t count = 0;
	size_t bytes;

	for (uint32_t i = 1; i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);
		uint32_t at = 0;

		if (!node->self || frame->kind != CALLTREE_UNNAMED ||
			replaced_name_file(frame->name, &bytes))
			continue;
		while (at < count && strcmp(of[at].module, frame->module))
			at++;
		if (at == count)
			of[count++] = (struct module_weight){.module = frame->module};
		of[at].self += node->self;
		if (of[at].self > worst.self)
			worst = of[at];
	}
	return worst;
}

static const char *runtime_remedy(const struct calltree *tree)
{
	for (uint32_t i = 0; i < calltree_frames(tree); i++) {
		const char *module = calltree_frame_at(tree, i)->module;

		for (size_t k = 0; k < sizeof(runtimes) / sizeof(runtimes[0]); k++) {
			size_t bytes = strlen(runtimes[k].module);

			/* Match "libjvm.so" and "libnode.so.108", but not "nodejs-helper". */
			if (!strncmp(module, runtimes[k].module, bytes) &&
				(!module[bytes] || strchr(".-", module[bytes])))
				return runtimes[k].remedy;
		}
	}
	return "a runtime that writes /tmp/perf-PID.map names what it compiles";
}

/* Returns the path of a module with the base name @module, preferably an existing file; or NULL. */
static const char *path_of(const struct names *names, const char *module)
{
	const char *gone = NULL;

	for (uint32_t i = 0; i < names->module_count; i++) {
		const char *path = names_string(names, names_module(names, i)->path);

		if (strcmp(base_name(path), module) || path[0] != '/')
			continue;
		if (!access(path, F_OK))
			return path;
		gone = path;
	}
	return gone;
}

static void file_remedy(struct unnamed_code *out, const char *module, const char *path)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	char command[sizeof(out->remedy) - 32];

	if (path && access(path, F_OK)) {
		snprintf(out->remedy, sizeof(out->remedy),
			"%.200s is not there any more, and its names with it", module);
		return;
	}
	if (!path || !distribution_has(path)) {
		snprintf(out->remedy, sizeof(out->remedy),
			"a build of %.200s that keeps its symbols would name them", module);
		return;
	}
	distribution_symbols_command(
		command, sizeof(command), release_path(), path, servers && *servers);
	snprintf(out->remedy, sizeof(out->remedy), "for their names: %s", command);
}

void unnamed_code_find(
	struct unnamed_code *out, const struct calltree *tree, const struct names *names)
{
	struct module_weight *of = calloc((size_t)calltree_frames(tree) + 1, sizeof(*of));
	struct module_weight worst = {0};

	*out = (struct unnamed_code){0};
	if (of)
		worst = find_heaviest(tree, of);
	if (worst.self && worst.module[0]) {
		snprintf(out->where, sizeof(out->where), "%.200s", worst.module);
		file_remedy(out, worst.module, path_of(names, worst.module));
	} else if (worst.self) {
		snprintf(out->where, sizeof(out->where), "code made while the program ran");
		snprintf(out->remedy, sizeof(out->remedy), "%s", runtime_remedy(tree));
	}
	free(of);
}

/* ---- runtimes of unknown versions ------------------------------------------------------------ */

#define FILES_MAX    3
#define VERSION_TEXT 32
#define MARK_BYTES   64 /* longest mark with its version */
#define SEARCH_BYTES 65536

/*
 * How to find the version of a runtime: it follows the text `mark` in a file or, if `mark` is NULL
 * or not found, one of `files` in the name of the runtime's module.
 */
static const struct reader {
	const char *kind, *label;
	const char *files[FILES_MAX]; /* beginnings of names of modules */
	const char *mark;	      /* NULL: only the name has the version */
	/* the file with `mark`, relative to the module's folder; NULL: the module */
	const char *beside;
	const char *remedy; /* NULL: nothing names its functions */
} readers[] = {
	{"python", "Python", {"python", "libpython"}, NULL, NULL,
		"python3 -X perf names them from 3.12 on"},
	{"php", "PHP", {"php", "libphp"}, "PHP/", NULL,
		"php -d opcache.jit_debug=16 names what its JIT compiles"},
	{"ruby", "Ruby", {"ruby", "libruby-", "libruby.so."}, "/ruby/", NULL,
		"from 3.3 on, ruby --yjit --yjit-perf names what YJIT compiles"},
	{"perl", "Perl", {"perl", "libperl.so."}, "/perl/", NULL, NULL},
	{"lua", "Lua", {"lua", "liblua"}, NULL, NULL, NULL},
	{"luajit", "LuaJIT", {"luajit-", "libluajit-5.1.so.", "luajit"}, NULL, NULL, NULL},
	{"node", "node", {"node", "libnode.so"}, "/node-v", NULL, NODE_REMEDY},
	{"java", "Java", {"libjvm.so"}, "JAVA_VERSION=\"", "../../release", JAVA_REMEDY},
};

/* Copy the first two numbers of the version at @text to @out; "" if there is none. */
static void copy_version(char out[VERSION_TEXT], const char *text, size_t bytes)
{
	size_t length = 0, dots = 0;

	while (length < bytes && length < VERSION_TEXT - 1 &&
		(isdigit((unsigned char)text[length]) ||
			(length && text[length] == '.' && !dots++)))
		length++;
	length -= length && text[length - 1] == '.';
	snprintf(out, VERSION_TEXT, "%.*s", (int)length, text);
}

/* Can @name be the runtime's file @file? For "php" these are "php", "php8.4" and "php-fpm8.4". */
static bool has_name(const char *name, const char *file)
{
	size_t bytes = strlen(file);

	return !strncmp(name, file, bytes) &&
	       (!name[bytes] || strchr(".-_", name[bytes]) || isdigit((unsigned char)name[bytes]));
}

/* Find the version after @mark in the file at @path; "" if there is none. */
static void search_version(char out[VERSION_TEXT], const char *path, const char *mark)
{
	char block[SEARCH_BYTES + MARK_BYTES];
	size_t kept = 0, bytes;
	FILE *in = fopen(path, "re");

	while (in && !out[0] && (bytes = fread(block + kept, 1, SEARCH_BYTES, in))) {
		const char *end = block + kept + bytes, *at = block;

		while (!out[0] &&
			(at = memmem(at, (size_t)(end - at), mark, strlen(mark))) != NULL) {
			at += strlen(mark);
			copy_version(out, at, (size_t)(end - at));
		}
		/* Keep the end of the block: a mark may begin there and end in the next block. */
		kept = kept + bytes < MARK_BYTES ? kept + bytes : MARK_BYTES;
		memmove(block, end - kept, kept);
	}
	if (in)
		fclose(in);
}

/* Find the version of the runtime module at @path. "" if unknown, or not of @reader's runtime. */
static void module_version(char out[VERSION_TEXT], const struct reader *reader, const char *path)
{
	const char *name = base_name(path);
	char beside[PATH_MAX];
	size_t length;
	int i = 0;

	out[0] = '\0';
	while (i < FILES_MAX && reader->files[i] && !has_name(name, reader->files[i]))
		i++;
	if (i == FILES_MAX || !reader->files[i])
		return;
	if (reader->mark && reader->beside) {
		snprintf(
			beside, sizeof(beside), "%.*s%s", (int)(name - path), path, reader->beside);
		search_version(out, beside, reader->mark);
	} else if (reader->mark) {
		search_version(out, path, reader->mark);
	}
	if (out[0])
		return;
	name += strlen(reader->files[i]);
	copy_version(out, name, VERSION_TEXT);
	length = strlen(out);
	/* A free-threaded CPython has a name like python3.13t. */
	if (length && name[length] == 't' && !isalnum((unsigned char)name[length + 1]))
		snprintf(out + length, VERSION_TEXT - length, "t (free-threaded)");
}

void unnamed_code_runtime(
	char *out, size_t size, const struct runtime_kind *kind, const struct names *names)
{
	const struct reader *reader = readers;
	char version[VERSION_TEXT] = "", other[VERSION_TEXT];

	while (strcmp(reader->kind, kind->name))
		reader++;
	for (uint32_t i = 0; i < names->module_count; i++) {
		module_version(other, reader, names_string(names, names_module(names, i)->path));
		if (version[0] && other[0] && strcmp(version, other)) {
			/* If two versions ran, it is unknown which could not be read. */
			version[0] = '\0';
			break;
		}
		if (other[0])
			strcpy(version, other);
	}
	snprintf(out, size, "%s%s%s is not a version whose functions can be named (known: %s)%s%s",
		reader->label, version[0] ? " " : ", as it runs here,", version, kind->known,
		reader->remedy ? ": " : "", reader->remedy ? reader->remedy : "");
}

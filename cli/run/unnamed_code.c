/* SPDX-License-Identifier: MIT */
/*
 * Files need their symbols, runtimes that make code must be asked to write down its names.
 *
 * Distributions are known by the words of os-release(5). Most packages of symbols have names that
 * only the distribution's own archive knows; its debuginfod server finds them by the file itself.
 */
#include "cli/run/unnamed_code.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/diag.h"
#include "cli/profile/picture_names.h"

/* ---- what a distribution brings -------------------------------------------------------------- */

#define LINE_BYTES    1024
#define COMMAND_BYTES 512
#define ANY_SERVER    "https://debuginfod.elfutils.org/"

#define RELEASE		  "/etc/os-release"
#define RELEASE_OF_VENDOR "/usr/lib/os-release" /* where an administrator has removed the other */

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

/* Files of glibc's, by how their names begin: on Debian and what is made of it, libc6-dbg. */
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

/* The first distribution that is a word of @line's value. */
static const struct distribution *find_word(char *line)
{
	for (char *word = strtok(line, "\"' \n"); word; word = strtok(NULL, "\"' \n"))
		for (size_t i = 0; i < sizeof(distributions) / sizeof(*distributions); i++)
			if (!strcmp(word, distributions[i].word))
				return &distributions[i];
	return NULL;
}

/* ID rules over ID_LIKE, in whatever order they stand. */
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

/* The package whose name is sure: python3.11 and libpython3.11.so.1.0 are python3.11-dbg's. */
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

/* Does a shell take @path as it is? */
static bool is_plain(const char *path)
{
	for (; *path; path++)
		if (!isalnum((unsigned char)*path) && !strchr("/._+-", *path))
			return false;
	return true;
}

/* @path as a word for a shell. */
static void quote_path(char *out, size_t size, const char *path)
{
	size_t at = 0;

	if (is_plain(path)) {
		snprintf(out, size, "%s", path);
		return;
	}
	out[at++] = '\'';
	for (; *path && at + strlen("'\\'''") < size; path++) {
		if (*path == '\'')
			at += (size_t)snprintf(out + at, size - at, "'\\''");
		else
			out[at++] = *path;
	}
	strcpy(out + at, "'");
}

/* Where this system says what it is. */
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
	char package[64], word[COMMAND_BYTES];

	quote_path(word, sizeof(word), path);
	if (here.installer == BY_APT && find_package(package, sizeof(package), base_name(path)))
		snprintf(out, size, "apt install %s", package);
	else if (here.installer == BY_DNF)
		snprintf(out, size, "dnf debuginfo-install %s", word);
	else
		snprintf(out, size, "%s%s%sdebuginfod-find debuginfo %s",
			has_servers ? "" : "DEBUGINFOD_URLS=", has_servers ? "" : here.server,
			has_servers ? "" : " ", word);
}

/* ---- what has no names ----------------------------------------------------------------------- */

struct module_weight {
	const char *module; /* "" for code of no file */
	uint64_t self;
};

#define NODE_OPTIONS "NODE_OPTIONS"
#define NODE_WRITES  "--perf-basic-prof"

/* How a runtime is told to write perf maps, by the beginning of the name of its module. */
static const struct {
	const char *module, *remedy;
} runtimes[] = {
	{"node", "--jit=node, or node " NODE_WRITES " names what it compiles"},
	{"libnode.so", "--jit=node, or node " NODE_WRITES " names what it compiles"},
	{"libjvm.so", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
		      "-XX:+PreserveFramePointer names what it compiles"},
	{"libcoreclr.so", "DOTNET_PerfMapEnabled=1 in the environment names what it compiles"},
	{"beam.smp", "erl +JPperf true names what it compiles"},
	{"mono-sgen", "mono --jitmap names what it compiles"},
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
 * Which module has most of the samples that end in unnamed code? @of has a place for each frame of
 * the tree; modules are few, so they are looked through.
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

			/* "libjvm.so", "libnode.so.108", but not "nodejs-helper" */
			if (!strncmp(module, runtimes[k].module, bytes) &&
				(!module[bytes] || module[bytes] == '.'))
				return runtimes[k].remedy;
		}
	}
	return "a runtime that writes /tmp/perf-PID.map names what it compiles";
}

/* The path of the file that pictures call @module, one that is there if any is; NULL: not known. */
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

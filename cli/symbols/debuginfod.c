/* SPDX-License-Identifier: MIT */
/*
 * For each file, run elfutils' client library, if it is installed, in a child process. A child can
 * be killed at any time, whereas the library cannot be interrupted while it connects to a server.
 * Moreover, the libraries that it loads and the data that it parses stay out of flamerun's process.
 * The partial download of a killed child is removed. Source: debuginfod_find_debuginfo(3).
 */
#include "cli/symbols/debuginfod.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"

#define LIBRARY	   "libdebuginfod.so.1"
#define POLL_NS	   10000000
#define NS_PER_S   1000000000ULL
/* exit status of a child if the library is missing; 0: downloaded; other values: errno */
#define NO_LIBRARY 255

int debuginfod_open(struct elf_file *file, const uint8_t *id, size_t id_bytes, char *path,
	size_t path_bytes)
{
	static const struct {
		const char *variable, *below;
	} places[] = {{"DEBUGINFOD_CACHE_PATH", ""}, {"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.debuginfod_client_cache"}, {"HOME", "/.cache/debuginfod_client"}};
	char hex[ELF_FILE_ID_TEXT];

	if (id_bytes < 2 || elf_file_id_text(id, id_bytes, hex))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *folder = getenv(places[i].variable);
		int bytes = snprintf(path, path_bytes, "%s%s/%s/debuginfo", folder ? folder : "",
			places[i].below, hex);

		if (!folder || bytes <= 0 || (size_t)bytes >= path_bytes ||
			elf_file_open(file, path, 0))
			continue;
		if (elf_file_has_build_id(file, id, id_bytes))
			return 0;
		elf_file_close(file);
	}
	return -ENOENT;
}

typedef void *begin_fn(void);
typedef int find_fn(void *client, const unsigned char *id, int id_bytes, char **path);

/* Download the file, in the child process. Returns the exit status of the child. */
static int find(const struct debuginfod_request *request)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	begin_fn *begin = library ? (begin_fn *)dlsym(library, "debuginfod_begin") : NULL;
	find_fn *find_file =
		library ? (find_fn *)dlsym(library, "debuginfod_find_debuginfo") : NULL;
	void *client = begin && find_file ? begin() : NULL;
	int found;

	if (!client)
		return NO_LIBRARY;
	found = find_file(client, request->build_id, (int)request->build_id_bytes, NULL);
	return found >= 0 ? 0 : -found < NO_LIBRARY ? -found : EIO;
}

static pid_t start(const struct debuginfod_request *request, pid_t parent)
{
	pid_t child = fork();
	sigset_t none;
	int null;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EINTR);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ignore the library's own time limit, because the parent process enforces it. */
	unsetenv("DEBUGINFOD_MAXTIME");
	/* Discard what the library prints, because the graph may be written to standard output. */
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	_exit(find(request));
}

static void note(struct debuginfod_report *report, struct debuginfod_request *request, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;

	if (!code) {
		request->came = true;
		report->came++;
	} else if (code == NO_LIBRARY) {
		report->has_no_library = true;
	} else if (code == ENOENT) {
		report->unknown++;
	} else {
		report->failed++;
		report->error = code;
	}
}

static unsigned patience_s(void)
{
	const char *text = getenv("DEBUGINFOD_MAXTIME");
	long seconds = text ? strtol(text, NULL, 10) : 0;

	return seconds > 0 && seconds < 86400 ? (unsigned)seconds : DEBUGINFOD_SECONDS;
}

struct running {
	pid_t pid; /* 0: none */
	struct debuginfod_request *request;
};

/* Reap children that have exited. Returns how many are still running. */
static unsigned reap(struct running *running, struct debuginfod_report *report)
{
	unsigned count = 0;

	for (unsigned i = 0; i < DEBUGINFOD_AT_ONCE; i++) {
		int status = 0;
		pid_t ended = running[i].pid ? waitpid(running[i].pid, &status, WNOHANG) : 0;

		if (ended == running[i].pid && ended) {
			note(report, running[i].request, status);
			running[i].pid = 0;
		} else if (ended < 0 && errno != EINTR) {
			running[i].pid = 0;
		}
		count += running[i].pid != 0;
	}
	return count;
}

/* Write the path of the file into which process @pid is downloading; "" if there is none. */
static void find_partial(pid_t pid, char path[PATH_MAX])
{
	static const char name[] = "/debuginfo.";
	char folder[32];
	struct dirent *entry;
	ssize_t bytes = 0;
	const char *base = NULL;
	DIR *open_files;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	open_files = opendir(folder);
	while (open_files && !base && (entry = readdir(open_files))) {
		bytes = readlinkat(dirfd(open_files), entry->d_name, path, PATH_MAX - 1);
		path[bytes > 0 ? bytes : 0] = '\0';
		base = strrchr(path, '/');
		if (base && strncmp(base, name, strlen(name)))
			base = NULL;
	}
	if (!base)
		path[0] = '\0';
	if (open_files)
		closedir(open_files);
}

static void end_all(struct running *running)
{
	char partial[PATH_MAX];

	for (unsigned i = 0; i < DEBUGINFOD_AT_ONCE; i++) {
		if (!running[i].pid)
			continue;
		find_partial(running[i].pid, partial);
		kill(running[i].pid, SIGKILL);
		while (waitpid(running[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
		if (partial[0])
			unlink(partial);
	}
}

void debuginfod_fetch(struct debuginfod_request *requests, size_t count, bool (*is_hurried)(void),
	struct debuginfod_report *report)
{
	const struct timespec poll = {.tv_nsec = POLL_NS};
	struct running running[DEBUGINFOD_AT_ONCE] = {{0}};
	unsigned seconds = patience_s(), busy = 0;
	uint64_t end_ns = clock_now_ns() + seconds * NS_PER_S;
	size_t next = 0;

	if (count > DEBUGINFOD_MAX)
		count = DEBUGINFOD_MAX;
	while ((next < count || busy) && !report->has_no_library) {
		for (unsigned i = 0; i < DEBUGINFOD_AT_ONCE && next < count; i++) {
			if (running[i].pid)
				continue;
			running[i].request = &requests[next++];
			running[i].pid = start(running[i].request, getpid());
			if (running[i].pid < 0) {
				running[i].pid = 0;
				report->failed++;
				report->error = EAGAIN;
			}
		}
		busy = reap(running, report);
		if (!busy && next == count)
			break;
		if (clock_now_ns() >= end_ns)
			report->seconds = seconds;
		if (report->seconds || (is_hurried && is_hurried())) {
			report->left += busy + (unsigned)(count - next);
			break;
		}
		nanosleep(&poll, NULL);
	}
	end_all(running);
}

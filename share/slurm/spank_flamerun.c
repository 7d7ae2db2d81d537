/* SPDX-License-Identifier: MIT */
/*
 * A plugin of Slurm that turns "srun --flamerun=job.svg ./prog" into "srun flamerun --job=job.ranks
 * -o job.svg -- ./prog": it executes srun again with the new arguments, before srun has asked the
 * controller for anything.
 *
 * The plugin does nothing on the nodes, because plugins there cannot change a task's arguments. The
 * only hook in which a task could be replaced, slurm_spank_task_init, runs too early: in
 * exec_task() of slurmstepd (22.05 to 26.05) much setup of the task follows it (SELinux context,
 * TaskProlog and --task-prolog with the variables that they export, TMPDIR, the stop for a
 * debugger, the search in PATH, propagated limits, the file name of --bcast).
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

SPANK_PLUGIN(flamerun, 1);

/* Slurm passes --flamerun to the plugins on nodes by this variable of srun's environment. */
#define LEFT_BEHIND "_SLURM_SPANK_OPTION_flamerun_flamerun"

static char name[] = "flamerun", dash_o[] = "-o", dashes[] = "--";
/* value of the option; NULL if the option was not given */
static char *picture;
static char *flamerun = name;

static int remember_picture(int value, const char *text, int is_remote)
{
	(void)value;
	(void)is_remote;
	free(picture);
	picture = text && *text ? strdup(text) : NULL;
	return picture ? 0 : -1;
}

static char argument[] = "FILE",
	    usage[] = "profile all ranks and draw them as one flame graph, FILE";
static struct spank_option option = {name, argument, usage, 1, 0, remember_picture};

/*
 * Register the option for srun only: salloc and sbatch start no ranks, so the option would have no
 * effect.
 */
int slurm_spank_init(spank_t spank, int count, char **words)
{
	if (spank_context() != S_CTX_LOCAL)
		return 0;
	for (int i = 0; i < count; i++)
		if (!strncmp(words[i], "flamerun=", 9))
			flamerun = words[i] + 9;
	return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

/*
 * Print an error and exit. Returning an error would not suffice: srun ignores the failure of an
 * optional plugin and would run without a profile.
 */
static void refuse(const char *why)
{
	slurm_error("--flamerun: %s", why);
	exit(1);
}

/* Returns the words of srun's command line, ended by NULL, and sets *@count. Never freed. */
static char **read_words(int *count)
{
	FILE *in = fopen("/proc/self/cmdline", "re");
	char **words = NULL, *word = NULL;
	size_t room = 0;

	*count = 0;
	while (in && getdelim(&word, &room, '\0', in) > 0) {
		words = realloc(words, ((size_t)*count + 2) * sizeof(*words));
		if (!words)
			refuse("out of memory");
		words[(*count)++] = word;
		words[*count] = NULL;
		word = NULL;
	}
	if (!in || !words)
		refuse("cannot read /proc/self/cmdline");
	fclose(in);
	return words;
}

/* Is @word the option @whole, possibly abbreviated to at least @least bytes? */
static int is_option(const char *word, const char *whole, size_t least)
{
	size_t bytes = strcspn(word, "=");

	return bytes >= least && bytes <= strlen(whole) && !strncmp(word, whole, bytes);
}

static void refuse_unknown(char *const *words, int program, int count)
{
	if (getenv("SLURM_BCAST"))
		refuse("not with SLURM_BCAST, which would send flamerun in the program's place");
	for (int i = 1; i < program; i++) {
		if (is_option(words[i], "--multi-prog", 4))
			refuse("not with --multi-prog: put flamerun before the programs of its "
			       "file");
		if (is_option(words[i], "--bcast", 4))
			refuse("not with --bcast, which would send flamerun in the program's "
			       "place");
	}
	for (int i = program; i < count; i++)
		if (!strcmp(words[i], ":"))
			refuse("not with several programs: put flamerun --job=DIR -- before each");
}

/*
 * Make "--job=/folder/job.ranks" and "/folder/job.svg" from "job.svg". The paths are absolute,
 * because tasks may run in another folder.
 */
static void make_paths(char **job, char **out)
{
	const char *base = strrchr(picture, '/') ? strrchr(picture, '/') + 1 : picture;
	const char *end = strrchr(base, '.') > base ? strrchr(base, '.') : base + strlen(base);
	char *folder = *picture == '/' ? strdup("") : getcwd(NULL, 0);
	const char *between = *picture == '/' ? "" : "/";

	if (!folder)
		refuse(strerror(errno));
	if (asprintf(out, "%s%s%s", folder, between, picture) < 0 ||
		asprintf(job, "--job=%s%s%.*s.ranks", folder, between, (int)(end - picture),
			picture) < 0)
		refuse("out of memory");
	free(folder);
}

/* Called after srun has parsed its options; optind is the first word after them, getopt(3). */
int slurm_spank_init_post_opt(spank_t spank, int plugin_count, char **plugin_words)
{
	int count, program = optind, at = 0;
	char **words, **wanted, *job, *out;
	sigset_t none;

	(void)spank;
	(void)plugin_count;
	(void)plugin_words;
	if (spank_context() != S_CTX_LOCAL || !picture)
		return 0;
	words = read_words(&count);
	/* If there is no program, srun itself reports the error. */
	if (program < 1 || program >= count)
		return 0;
	refuse_unknown(words, program, count);
	make_paths(&job, &out);
	wanted = calloc((size_t)count + 8, sizeof(*wanted));
	if (!wanted)
		refuse("out of memory");
	for (int i = 0; i < program; i++) {
		if (!i || !is_option(words[i], "--flamerun", 4))
			wanted[at++] = words[i];
		else if (!strchr(words[i], '='))
			i++; /* skip its value, a word of its own */
	}
	wanted[at++] = flamerun;
	wanted[at++] = job;
	wanted[at++] = dash_o;
	wanted[at++] = out;
	wanted[at++] = dashes;
	for (int i = program; i < count; i++)
		wanted[at++] = words[i];
	unsetenv(LEFT_BEHIND);
	/*
	 * Unblock all signals: those that srun has blocked would stay blocked in the new srun,
	 * which needs them.
	 */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", wanted);
	refuse(strerror(errno));
	return -1;
}

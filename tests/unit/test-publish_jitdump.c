/* SPDX-License-Identifier: MIT */
/*
 * Check the records of jit-PID.dump against the specification and against two more conditions of
 * perf's unwinder: pieces of code must not overlap, and the search table behind a piece must refer
 * to an FDE inside some piece.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "arch/stub.h"
#include "libprof/trampoline/region.h"
#include "tests/unit/stub-chain.h"

static char folder[] = "/tmp/test-publish_jitdump-XXXXXX";

struct piece {
	uint64_t start, bytes; /* range that perf maps: code and table */
	uint64_t code_bytes;
	const char *name;
	const uint8_t *code;
	const uint8_t *table; /* .eh_frame_hdr, or NULL */
};

struct dump {
	uint8_t *bytes;
	size_t used;
	unsigned pieces, closes;
	struct piece piece[64];
};

static uint32_t u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void dump_path(char path[128], pid_t pid)
{
	snprintf(path, 128, "%s/jit-%d.dump", folder, (int)pid);
}

static void check_header(const struct dump *dump, pid_t pid)
{
	assert_true(dump->used >= 40);
	assert_int_equal(u32(dump->bytes), 0x4a695444);
	assert_int_equal(u32(dump->bytes + 4), 1);
	assert_int_equal(u32(dump->bytes + 8), 40);
	assert_int_equal(u32(dump->bytes + 12), ARCH_ELF_MACHINE);
	assert_int_equal(u32(dump->bytes + 20), pid);
}

static void read_load(struct dump *dump, const uint8_t *at, uint32_t size, const uint8_t *unwinding)
{
	struct piece *piece = &dump->piece[dump->pieces];

	assert_true(dump->pieces < 64);
	piece->start = u64(at + 32);
	piece->code_bytes = piece->bytes = u64(at + 40);
	/* code_index is unique. */
	assert_int_equal(u64(at + 48), dump->pieces);
	piece->name = (const char *)at + 56;
	piece->code = at + 56 + strlen(piece->name) + 1;
	assert_ptr_equal(piece->code + piece->code_bytes, at + size);
	if (unwinding) {
		uint64_t bytes = u64(unwinding + 16);

		assert_int_equal(u64(unwinding + 24), bytes);
		assert_int_equal(u64(unwinding + 32), bytes);
		assert_int_equal(u32(unwinding + 4), 40 + bytes);
		piece->table = unwinding + 40;
		piece->bytes = ((piece->bytes + 7) & ~7ULL) + bytes;
	}
	dump->pieces++;
}

static struct dump *read_dump(pid_t pid)
{
	struct dump *dump = calloc(1, sizeof(*dump));
	const uint8_t *unwinding = NULL;
	uint64_t before_ns = 0;
	char path[128];
	FILE *file;

	dump_path(path, pid);
	file = fopen(path, "r");
	assert_non_null(file);
	dump->bytes = malloc(1 << 20);
	dump->used = fread(dump->bytes, 1, 1 << 20, file);
	fclose(file);
	check_header(dump, pid);
	for (size_t at = 40; at < dump->used;) {
		const uint8_t *record = dump->bytes + at;
		uint32_t size = u32(record + 4);

		assert_true(size >= 16 && size <= dump->used - at);
		assert_true(u64(record + 8) >= before_ns);
		before_ns = u64(record + 8);
		assert_true(u32(record) == 0 || u32(record) == 3 || u32(record) == 4);
		dump->closes += u32(record) == 3;
		if (u32(record) == 0)
			read_load(dump, record, size, unwinding);
		unwinding = u32(record) == 4 ? record : NULL;
		at += size;
	}
	return dump;
}

static void free_dump(struct dump *dump)
{
	free(dump->bytes);
	free(dump);
}

static const struct piece *find_piece(const struct dump *dump, const char *name)
{
	const struct piece *found = NULL;

	for (unsigned i = 0; i < dump->pieces; i++) {
		if (strcmp(dump->piece[i].name, name))
			continue;
		assert_null(found);
		found = &dump->piece[i];
	}
	return found;
}

static void check_apart(const struct dump *dump)
{
	for (unsigned i = 0; i < dump->pieces; i++) {
		for (unsigned k = 0; k < i; k++)
			assert_true(dump->piece[i].start >=
					    dump->piece[k].start + dump->piece[k].bytes ||
				    dump->piece[k].start >=
					    dump->piece[i].start + dump->piece[i].bytes);
	}
}

/*
 * Follow the only entry of the search table behind @piece to its FDE, and check the start address
 * in this FDE.
 */
static void check_table(const struct dump *dump, const struct piece *piece)
{
	uint64_t table = piece->start + ((piece->code_bytes + 7) & ~7ULL);
	uint64_t fde, begin;
	const struct piece *frames = NULL;

	assert_non_null(piece->table);
	assert_int_equal(u32(piece->table), 0x3b031b01);
	assert_int_equal(u32(piece->table + 8), 1);
	assert_int_equal(table + (int32_t)u32(piece->table + 12), piece->start);
	fde = table + (int32_t)u32(piece->table + 16);
	for (unsigned i = 0; i < dump->pieces && !frames; i++) {
		if (fde >= dump->piece[i].start &&
			fde < dump->piece[i].start + dump->piece[i].code_bytes)
			frames = &dump->piece[i];
	}
	assert_non_null(frames);
	/*
	 * The start address is stored as pcrel
	 * sdata4, behind the FDE's length and CIE pointer.
	 */
	begin = fde + 8 + (int32_t)u32(frames->code + (fde - frames->start) + 8);
	assert_int_equal(begin, piece->start);
}

static void check_stub(const struct dump *dump, const char *name, chain_function *stub)
{
	const struct piece *piece = find_piece(dump, name);

	assert_non_null(piece);
	assert_int_equal(piece->start, (uintptr_t)stub);
	assert_memory_equal(piece->code, (void *)stub, piece->code_bytes);
	check_table(dump, piece);
}

static void test_folder_is_missing(void **state)
{
	(void)state;
	setenv("JITDUMPDIR", "/nonexistent", 1);
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_JITDUMP), -ENOENT);
	assert_int_equal(flameprof_published(), 0);
	setenv("JITDUMPDIR", folder, 1);
}

/*
 * Return whether the file of @pid is mapped executable here. perf record finds the file by this
 * mapping.
 */
static int is_marked(pid_t pid)
{
	char path[128], line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	dump_path(path, pid);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, path) && strstr(line, " r-xp ");
	fclose(maps);
	return found;
}

static void test_stubs(void **state)
{
	chain_function *later;
	struct dump *dump;

	(void)state;
	chain_make();
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_JITDUMP), 0);
	assert_true(is_marked(getpid()));
	later = chain_new_stub("later", 0);
	dump = read_dump(getpid());
	/* There is one piece for each stub and one for the call-frame information. */
	assert_int_equal(dump->pieces, CHAIN + 2);
	check_apart(dump);
	check_stub(dump, "chain_0", chain_stub[0]);
	check_stub(dump, "chain_2", chain_stub[2]);
	check_stub(dump, "later", later);
	free_dump(dump);
}

struct host_code {
	uint8_t code[96];
	uint8_t behind[32];
	uint8_t frames[128];
} __attribute__((aligned(16)));

/*
 * Write an .eh_frame as compilers write it: with a personality, language-specific data and relative
 * pointers.
 */
static void write_frames(struct host_code *host)
{
	static const uint8_t cie[] = {28, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'P', 'L', 'R', 0, 1, 0x78,
		16, 11, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b, 0x1b, 0, 0, 0};
	static const uint8_t fde[] = {20, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0,
		4, 9, 9, 9, 9, 0, 0, 0};
	int32_t distance = (int32_t)(host->code - (host->frames + 32 + 8));

	memset(host->frames, 0, sizeof(host->frames));
	memcpy(host->frames, cie, sizeof(cie));
	memcpy(host->frames + 32, fde, sizeof(fde));
	memcpy(host->frames + 40, &distance, sizeof(distance));
}

static void test_code_of_the_host(void **state)
{
	static struct host_code host;
	const struct piece *piece, *frames = NULL;
	struct dump *dump;

	(void)state;
	write_frames(&host);
	memset(host.code, 0x90, sizeof(host.code));
	assert_int_equal(
		flameprof_code_add(host.code, sizeof(host.code), "host's", host.frames), 0);
	/*
	 * Other code begins directly behind this code. A search table behind this code would
	 * overlap the other code, so none is written.
	 */
	assert_int_equal(flameprof_code_add(host.behind, 16, "behind", NULL), 0);
	assert_int_equal(flameprof_code_remove(host.code), 0);
	assert_int_equal(
		flameprof_code_add(host.code, sizeof(host.code), "crowded", host.frames), 0);
	dump = read_dump(getpid());
	piece = find_piece(dump, "host's");
	assert_non_null(piece);
	assert_memory_equal(piece->code, host.code, sizeof(host.code));
	check_table(dump, piece);
	/*
	 * The copy of the call-frame information has no personality, because perf would have to
	 * read its address from memory.
	 */
	for (unsigned i = 0; i < dump->pieces; i++) {
		if (dump->piece[i].start == (uintptr_t)host.frames)
			frames = &dump->piece[i];
	}
	assert_non_null(frames);
	assert_string_equal((const char *)frames->code + 9, "zR");
	assert_true(frames->code_bytes <= sizeof(host.frames));
	assert_null(find_piece(dump, "behind")->table);
	assert_null(find_piece(dump, "crowded")->table);
	free_dump(dump);
	assert_int_equal(flameprof_code_remove(host.code), 0);
	assert_int_equal(flameprof_code_remove(host.behind), 0);
}

static void test_code_that_cannot_be_read(void **state)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dump *dump;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(flameprof_code_add(page, 4096, "unreadable", NULL), 0);
	dump = read_dump(getpid());
	assert_int_equal(find_piece(dump, "unreadable")->start, (uintptr_t)page);
	free_dump(dump);
	assert_int_equal(flameprof_code_remove(page), 0);
	munmap(page, 4096);
}

static void test_fork_child_has_its_own(void **state)
{
	struct dump *before = read_dump(getpid()), *after, *its;
	char path[128];
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		chain_new_stub("made by the child", 0);
		/* Call exit(), not _exit(), so that the library completes the file. */
		exit(is_marked(getpid()) && !is_marked(getppid()) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	its = read_dump(child);
	check_stub(its, "chain_1", chain_stub[1]);
	assert_non_null(find_piece(its, "made by the child"));
	assert_int_equal(its->closes, 1);
	after = read_dump(getpid());
	assert_int_equal(after->used, before->used);
	assert_int_equal(after->closes, 0);
	free_dump(before);
	free_dump(after);
	free_dump(its);
	dump_path(path, child);
	unlink(path);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int cleanup(void **state)
{
	char path[128];

	(void)state;
	dump_path(path, getpid());
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder_is_missing),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_code_of_the_host),
		cmocka_unit_test(test_code_that_cannot_be_read),
		cmocka_unit_test(test_fork_child_has_its_own),
	};

	return cmocka_run_group_tests_name("publish_jitdump", tests, setup, cleanup);
}

# SPDX-License-Identifier: MIT
#
# Programs that link libflameprof run out of memory: every call of the library must return, and none
# may end the program.
import library

# Each child has one more successful allocation than the one before it, until all succeed.
SOURCE = """
    #include <errno.h>
    #include <stddef.h>
    #include <stdio.h>
    #include <sys/wait.h>
    #include <unistd.h>
    #include "flameprof_stub.h"

    void *__libc_malloc(size_t bytes);
    void *__libc_calloc(size_t count, size_t bytes);
    void *__libc_realloc(void *block, size_t bytes);

    static long left = -1; /* -1: without limit */
    static int is_refused;

    static int refuse(void)
    {
        if (left) {
            left -= left > 0;
            return 0;
        }
        is_refused = 1;
        errno = ENOMEM;
        return 1;
    }

    void *malloc(size_t bytes) { return refuse() ? NULL : __libc_malloc(bytes); }
    void *calloc(size_t count, size_t bytes)
    {
        return refuse() ? NULL : __libc_calloc(count, bytes);
    }
    void *realloc(void *block, size_t bytes)
    {
        return refuse() ? NULL : __libc_realloc(block, bytes);
    }

    static long target(long value) { return value + 1; }

    static int use_stubs(void)
    {
        struct flameprof_arena *arena = NULL;
        long (*stub)(long) = target;

        flameprof_publish(FLAMEPROF_PUBLISH_UNWINDERS | FLAMEPROF_PUBLISH_GDB);
        if (!flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, (flameprof_function *)target, NULL))
            stub = (long (*)(long))flameprof_stub_new(arena, "x", 0);
        if (stub(1) != 2)
            return 1;
        flameprof_arena_free(arena);
        return 0;
    }

    int main(void)
    {
        int ends = 0, died = 0, status, is_enough = 0;

        for (long allowed = 0; allowed < 1000 && !is_enough; allowed++) {
            pid_t pid = fork();

            if (!pid) {
                left = allowed;
                _exit(use_stubs() ? 2 : is_refused);
            }
            if (waitpid(pid, &status, 0) != pid)
                return 1;
            died += !WIFEXITED(status) || WEXITSTATUS(status) > 1;
            is_enough = WIFEXITED(status) && !WEXITSTATUS(status);
            ends++;
        }
        printf("enough %d\\nends %d\\ndied %d\\n", is_enough, ends, died);
        return 0;
    }
"""


def test_stubs_for_unwinders_without_memory(tmp_path):
    """libgcc's and LLVM's unwinders do not check the results of their allocations."""
    program = library.build(library.write(tmp_path, "memory.c", SOURCE), tmp_path, link="archive",
                            flags=("-O1",))
    said = library.said(library.run(program, cwd=tmp_path))
    assert (said["enough"], said["died"]) == (1, 0)
    assert said["ends"] >= 5

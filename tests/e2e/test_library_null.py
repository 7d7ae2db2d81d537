# SPDX-License-Identifier: MIT
#
# Pass NULL for each pointer parameter of public functions, and check the rule at the top of
# flameprof.h and the functions for which NULL has a meaning.
import re

import library

INVALID = -22
NO_MEMORY = 2  # FLAMEPROF_STUBS_NO_MEMORY
NOTHING = None  # no result: the call has to return

# Calls, made in this order in one process. `profile` is a profile with a stack, `stub_arena` an
# arena.
BEFORE_START = [
    ("flameprof_diagnostics(NULL)", INVALID),
    ("flameprof_mark(NULL)", INVALID),
    ("flameprof_start(NULL)", 0),
]
CALLS = [
    ("flameprof_diagnostics(NULL)", INVALID),
    ("flameprof_mark(NULL)", INVALID),
    ("flameprof_flush(NULL, -1)", 0),
    ("flameprof_stop(NULL, -1)", 0),
    ("flameprof_scope_begin(NULL, \"a.pb\", NULL)", INVALID),
    ("flameprof_scope_begin(&scope, NULL, NULL)", INVALID),
    ("flameprof_scope_begin(&scope, \"a.pb\", NULL) > 0", 1),
    ("flameprof_scope_end(NULL)", INVALID),
    ("flameprof_scope_status(NULL)", INVALID),
    ("flameprof_scope_last(NULL)", INVALID),
    ("flameprof_stop(NULL, -1)", 0),
    ("flameprof_profile_free(NULL)", NOTHING),
    ("flameprof_profile_info(NULL, &info)", NOTHING),
    ("flameprof_profile_info(profile, NULL)", NOTHING),
    ("flameprof_profile_thread(NULL, 0, &thread)", INVALID),
    ("flameprof_profile_thread(profile, 0, NULL)", INVALID),
    ("flameprof_profile_module(NULL, 0, &module)", INVALID),
    ("flameprof_profile_module(profile, 0, NULL)", INVALID),
    ("flameprof_profile_stack(NULL, 0, &stack)", INVALID),
    ("flameprof_profile_stack(profile, 0, NULL)", INVALID),
    ("flameprof_profile_frames(NULL, 0, frames, 4)", INVALID),
    ("flameprof_profile_frames(profile, 0, NULL, 4)", INVALID),
    ("flameprof_profile_frames(profile, 0, NULL, 0) > 0", 1),
    ("flameprof_profile_sample(NULL, 0, &sample)", INVALID),
    ("flameprof_profile_sample(profile, 0, NULL)", INVALID),
    ("flameprof_profile_mark(NULL, 0, &mark)", INVALID),
    ("flameprof_profile_mark(profile, 0, NULL)", INVALID),
    ("flameprof_profile_merge(NULL, profile)", INVALID),
    ("flameprof_profile_merge(profile, NULL)", INVALID),
    ("flameprof_profile_write(NULL, \"a.pb\")", INVALID),
    ("flameprof_profile_write(profile, NULL)", INVALID),
    ("flameprof_arena_new(NULL, FLAMEPROF_STUB_CALL, target, NULL)", INVALID),
    ("flameprof_arena_new(&refused, FLAMEPROF_STUB_CALL, NULL, NULL)", INVALID),
    ("flameprof_arena_hide_target(NULL)", NOTHING),
    ("flameprof_arena_free(NULL)", NOTHING),
    ("flameprof_arena_status(NULL)", NO_MEMORY),
    ("flameprof_stub_new(NULL, \"x\", 0) == NULL", 1),
    ("flameprof_stub_new(stub_arena, NULL, 0) != NULL", 1),
    ("flameprof_stub_free(NULL, target)", NOTHING),
    ("flameprof_stub_free(stub_arena, NULL)", NOTHING),
    ("flameprof_lookup((uintptr_t)flameprof_stub_new(stub_arena, \"x\", 0), NULL)", INVALID),
    ("flameprof_code_add(NULL, 16, \"x\", NULL)", INVALID),
    ("flameprof_code_remove(NULL)", INVALID),
    ("flameprof_backtrace(NULL, NULL, 0)", 0),
    ("flameprof_backtrace(NULL, NULL, 5)", 0),
    ("flameprof_arenas_suspend(NULL, NULL)", 0),
    ("flameprof_arenas_resume(NULL, NULL)", 0),
    ("flameprof_signature_of(0, NULL, 1).stack_words > 64", 1),
    ("flameprof_signature_of(0, NULL, 0).stack_words", 0),
    ("flameprof_interrupt_register_with(NULL)", INVALID),
    ("flameprof_interrupt_register_call(NULL, NULL)", INVALID),
    ("flameprof_interrupt_enable(1000000, NULL, NULL)", INVALID),
    ("flameprof_interrupt_register(NULL)", 0),
    ("flameprof_intercept(NULL, \"x\", NULL) == NULL", 1),
    ("flameprof_intercept(target, NULL, NULL) != NULL", 1),
    ("flameprof_intercept_original(NULL) == NULL", 1),
    ("flameprof_intercept_table(NULL, 1, &name, NULL)", INVALID),
    ("flameprof_intercept_table(&no_table, 1, &name, NULL)", INVALID),
    ("flameprof_intercept_table(&table, 1, NULL, NULL)", INVALID),
    ("flameprof_intercept_restore(NULL, 1)", INVALID),
    ("flameprof_intercept_restore(&no_table, 1)", INVALID),
    ("flameprof_interrupt_enable(1000000, tick, NULL)", 0),
    ("flameprof_record_vm_stack(NULL, 3, 1)", INVALID),
]

HEAD = """
    #include <stdio.h>
    #include <time.h>
    #include "flameprof_profile.h"
    #include "flameprof_scope.h"
    #include "flameprof_signature.h"
    #include "flameprof_vm.h"

    static void target(void) { }
    static void tick(void *context, uint32_t ticks) { (void)context; (void)ticks; }

    static void burn(void)
    {
        while (clock() < CLOCKS_PER_SEC / 5)
            ;
    }

    #define CALL(number, call) \\
        (printf("call-%d ", number), fflush(stdout), printf("%d\\n", (int)(call)))
    #define NO_RESULT(number, call) CALL(number, ((call), 0))

    int main(void)
    {
        struct flameprof_scope scope;
        struct flameprof_profile *profile = NULL;
        struct flameprof_profile_summary info;
        struct flameprof_thread thread;
        struct flameprof_module module;
        struct flameprof_stack stack;
        struct flameprof_frame frames[4];
        struct flameprof_sample sample;
        struct flameprof_mark mark;
        struct flameprof_arena *stub_arena = NULL, *refused = NULL;
        flameprof_function *entry = target, **table = &entry, **no_table = NULL;
        const char *name = "x";

        flameprof_arena_new(&stub_arena, FLAMEPROF_STUB_CALL, target, NULL);
"""

FETCH = """
        burn();
        flameprof_flush(&profile, -1);
"""


def test_null_is_refused_or_has_a_meaning(tmp_path):
    table = BEFORE_START + CALLS
    lines = [f"{'CALL' if value is not None else 'NO_RESULT'}({number}, {call});"
             for number, (call, value) in enumerate(table)]
    lines.insert(len(BEFORE_START), FETCH)
    source = library.write(tmp_path, "null.c", HEAD + "\n".join(lines) + "\nreturn 0; }\n")
    program = library.build(source, tmp_path, flags=("-O1", "-Wno-nonnull"))
    said = library.said(library.run(program, cwd=tmp_path))
    wrong = {call: said.get(f"call-{number}") for number, (call, value) in enumerate(table)
             if said.get(f"call-{number}") != (value or 0)}
    assert not wrong


def test_no_function_is_left_out():
    declared = {name for header in library.HEADERS.glob("flameprof*.h")
                for name, parameters in re.findall(
                    r"^FLAMEPROF_API [^;()]*?(flameprof_\w+)\(\s*([^;]*?)\);", header.read_text(),
                    re.MULTILINE)
                if "*" in parameters}
    assert len(declared) >= 38
    assert not declared - set(re.findall(r"flameprof_\w+", str(BEFORE_START + CALLS)))

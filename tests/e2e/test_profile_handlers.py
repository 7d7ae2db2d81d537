# SPDX-License-Identifier: MIT
#
# Where time in a program's own signal handlers stands: with and without an alternate stack, with and
# without room for our handler there, and when signals come together.
import pytest

import folded
from profiled import compile_target, profile

HANDLER = "[signal handler]"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_target("handlers.c", tmp_path_factory.mktemp("handlers"))


@pytest.mark.same_if("sanitized", "confined")
@pytest.mark.parametrize("bytes_", [0, 65536], ids=["no-alternate-stack", "with-room"])
def test_handlers_are_sampled(program, tmp_path, bytes_):
    run = profile(tmp_path, program, "shares", str(bytes_), "4000", rate_hz=997)
    assert run.status == 0
    folded.assert_truth(run.folded, run.truth, run.rate_hz)
    assert not run.folded.below(HANDLER)
    # As the program called it: by raise(), from main, and nobody else is on the stack.
    assert run.folded.where(lambda s: "in_handler" in s and "main" in s and "work" in s
                            ) == run.folded.below("in_handler")


@pytest.mark.same_if("sanitized", "confined")
def test_without_room_they_have_a_box(program, tmp_path):
    run = profile(tmp_path, program, "shares", "12288", "4000", rate_hz=997)
    assert run.status == 0
    assert not run.folded.below("in_handler")
    truth = {HANDLER: run.truth["in_handler"], "normal": run.truth["normal"]}
    folded.assert_truth(run.folded, truth, run.rate_hz)
    assert not run.folded.where(lambda s: HANDLER in s and len(s) > 1)
    # Nor is what was due when it began on who raised the signal.
    assert run.folded.below("raise") < 0.05 * run.folded.total, run.folded.describe()


# What waits with the program's signal is let in by the handler's guard, or behind the handler.
@pytest.mark.same_if("sanitized", "confined")
@pytest.mark.parametrize("bytes_", [0, 65536, 12288])
def test_one_that_only_begins_has_no_time(program, tmp_path, bytes_):
    run = profile(tmp_path, program, "together", str(bytes_), "1000", rate_hz=997)
    assert run.status == 0
    assert int(run.stdout.split()[1]) > 50 and run.folded.total > 500
    handled = run.folded.where(lambda s: "count" in s or "__restore_rt" in s)
    assert handled < 0.05 * run.folded.total, run.folded.describe()

# SPDX-License-Identifier: MIT
#
# A program profiles itself, with all ways to link the library, alone and under flamerun.
import pytest

import library
import profiled

CASES = ["life", "threads", "children", "replaced", "another", "forgotten"]


@pytest.fixture(scope="module", params=list(library.LINKS))
def linked(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, library.build("sessions.c", folder, link=request.param)


@pytest.mark.parametrize("case", CASES)
def test_a_program_profiles_itself(linked, tmp_path, case):
    link, program = linked
    out = library.run(program, case, link, cwd=tmp_path).stdout
    if case == "another":
        # Only the shared library intercepts calls of libc.
        assert out == ("shared\n" if link == "shared" else "lost\n")
    if case in ("replaced", "forgotten"):
        assert out == case + "\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return library.build("sessions.c", tmp_path_factory.mktemp("sessions"))


def test_without_the_library_preloaded_it_is_the_same(shared, tmp_path):
    """
    The linked and the preloaded library are one instance. Two would take SIGVTALRM from each other.
    """
    env = library.environment(LD_PRELOAD=str(library.SHARED))
    library.run(shared, "life", cwd=tmp_path, env=env)
    library.run(shared, "threads", cwd=tmp_path, env=env)


def test_under_flamerun_it_is_a_guest(shared, tmp_path):
    result = profiled.profile(tmp_path, shared, "guest")
    assert (result.status, result.stdout) == (0, "")


def test_what_happens_in_a_pause_is_not_in_the_picture(shared, tmp_path):
    result = profiled.profile(tmp_path, shared, "pauses", rate_hz=500)
    assert result.status == 0
    assert result.folded.below("burn_unseen") == 0, result.folded.describe()
    # 0.4 s twice in the parent and once in the child are 600 samples. Each end may be off by a
    # tick.
    assert 500 <= result.folded.below("burn_seen") <= 700, result.folded.describe()

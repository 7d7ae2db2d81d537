# SPDX-License-Identifier: MIT
#
# Files that are replaced or deleted while they run: what is named is what ran, never what came after.
import re

import pytest

from profiled import PLAIN, compile_target, profile

BUILD_IDS = ["sha1", "none"]


def library(folder, name, function, build_id):
    return compile_target("dlturns_library.c", folder, (
        *PLAIN, "-shared", "-fPIC", f"-Wl,--build-id={build_id}", f"-DFUNCTION={function}"), name)


@pytest.fixture(params=BUILD_IDS)
def files(request, tmp_path):
    """(program, library, build-id), in a folder of their own."""
    program = compile_target("replaces.c", tmp_path, (*PLAIN, f"-Wl,--build-id={request.param}"))
    return program, library(tmp_path, "plugin.so", "turn", request.param), request.param


def frames(run):
    return {frame for stack, _ in run.folded.stacks for frame in stack}


def test_a_plugin(tmp_path, files):
    program, plugin, build_id = files
    new = library(tmp_path, "new.so", "newcomer", build_id)
    run = profile(tmp_path, program, plugin, plugin, new)
    assert run.status == 0
    assert "newcomer" not in frames(run) and "turn" not in frames(run)
    replaced = run.folded.below("[replaced: plugin.so]")
    assert replaced > 0.9 * run.folded.total, run.folded.describe()
    assert run.folded.below("main") > 0.9 * run.folded.total
    told = re.search(r"(\d+) samples are in 'plugin.so', replaced meanwhile", run.stderr)
    assert told and int(told.group(1)) == replaced, run.stderr
    assert "hint" not in run.stderr


def test_the_program(tmp_path, files):
    """Its file is held open from before its start; where nothing identifies it that is not used."""
    program, plugin, build_id = files
    new = compile_target("recursion.c", tmp_path, (*PLAIN, f"-Wl,--build-id={build_id}"))
    run = profile(tmp_path, program, plugin, program, new)
    assert run.status == 0
    name = "main" if build_id == "sha1" else f"[replaced: {program.name}]"
    assert run.folded.below(name) > 0.9 * run.folded.total, run.folded.describe()
    assert run.folded.below("turn") > 0.9 * run.folded.total, run.folded.describe()
    assert ("replaced meanwhile" in run.stderr) == (build_id == "none")


def test_a_library_deleted(tmp_path, files):
    program, plugin, _ = files
    run = profile(tmp_path, program, plugin, plugin)
    assert run.status == 0
    unnamed = run.folded.where(lambda stack: stack[-1].startswith("[plugin.so+0x"))
    assert unnamed > 0.9 * run.folded.total, run.folded.describe()


def test_a_file_made_during_the_run_is_believed(tmp_path, files):
    """It is newer than the run, and not newer than its first sample."""
    program, plugin, _ = files
    other = tmp_path / "other"
    plugin.rename(other)
    run = profile(tmp_path, "sh", "-c",
                  f"cp '{other}' '{plugin}'; : > '{tmp_path}/x'; '{program}' '{plugin}' '{tmp_path}/x'")
    assert run.status == 0
    assert run.folded.below("turn") > 0.8 * run.folded.total, run.folded.describe()
    assert "replaced" not in run.stderr

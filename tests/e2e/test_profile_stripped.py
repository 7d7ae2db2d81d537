# SPDX-License-Identifier: MIT
#
# Stripped programs: the addresses are right, compared with the symbols of the unstripped program.
import os
import re
import shutil
import subprocess

import folded
from profiled import PLAIN, ROOT, compile_target, looks, profile


def functions(program):
    """[(start, end, name)] of the program's functions."""
    text = subprocess.run(["nm", "-S", "--defined-only", program], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    found = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tT":
            start = int(fields[0], 16)
            found.append((start, start + int(fields[1], 16), fields[3]))
    return found


def test_addresses_of_a_stripped_program(tmp_path):
    twin = compile_target("split.c", tmp_path)
    program = tmp_path / "bare"
    shutil.copy(twin, program)
    subprocess.run(["strip", program], check=True)
    rate_hz, ms = looks(300)
    run = profile(tmp_path, program, ms, rate_hz=rate_hz)
    assert run.status == 0

    table = functions(twin)
    weights = {"heavy": 0, "light": 0}
    for stack, weight in run.folded.stacks:
        for frame in stack:
            match = re.fullmatch(r"\[bare\+0x([0-9a-f]+)\]", frame)
            address = int(match.group(1), 16) if match else None
            for start, end, name in table:
                if address is not None and start <= address < end and name in weights:
                    weights[name] += weight
    known = sum(weights.values())
    assert known >= 0.98 * run.folded.total - run.begin, run.folded.describe()
    heavy = run.truth["heavy"] / sum(run.truth.values())
    folded.assert_share(run.folded, weights["heavy"], heavy, known * run.looks, "heavy")
    # A function without a name must not get the name of the nearest symbol.
    assert run.folded.below("heavy") == 0 and run.folded.below("main") == 0


def test_names_from_a_debug_file_beside(tmp_path):
    program = compile_target("split.c", tmp_path, ("-O2", "-g"))
    debug = tmp_path / "split.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    rate_hz, ms = looks(300)
    run = profile(tmp_path, program, ms, rate_hz=rate_hz, options=("-v",))
    run.assert_truth()
    told = re.search(r"names of split: (\d+) samples, (\S+) % named: (.*)", run.stderr)
    assert told and told.group(3) == f"by debug link, {debug}", run.stderr
    assert 0 < int(told.group(1)) <= run.folded.total and float(told.group(2)) > 95


def test_a_symbol_without_a_size_ends_somewhere(tmp_path):
    """A symbol without a size ends at the next call-frame information, or at a maximum length."""
    program = compile_target("unsized.c", tmp_path, (*PLAIN, "-fno-toplevel-reorder"))
    subprocess.run(["strip", "--keep-symbol=near", program], check=True)
    rate_hz, ms = looks(1200)
    run = profile(tmp_path, program, ms, rate_hz=rate_hz)
    near = run.truth["near"] / sum(run.truth.values())
    folded.assert_share(run.folded, run.folded.self("near"), near, run.folded.total, "near")
    # The assembly code has no call-frame information, so its callers are found by the return
    # address.
    if os.uname().machine == "x86_64":
        assert run.folded.below("[incomplete stack]") <= 0.01 * run.folded.total


def test_code_behind_that_of_the_start(tmp_path):
    """frame_dummy() of crtbegin.o has no size. Code behind it must not get its name."""
    source = tmp_path / "first.c"
    source.write_text('#include "tests/targets/spin.h"\n'
                      "BOX void first(unsigned units) { spin(units); }\n"
                      "int main(void) { first(8000); return 0; }\n")
    program = tmp_path / "first"
    subprocess.run(["gcc", "-O0", "-fno-asynchronous-unwind-tables", f"-I{ROOT}", "-o", program, source],
                   check=True)
    frame_dummy = re.search(r"^(\w+) t frame_dummy$", subprocess.run(
        ["nm", program], text=True, check=True, stdout=subprocess.PIPE).stdout, re.M)
    assert 0 < next(start for start, _, name in functions(program) if name == "first") - int(frame_dummy[1], 16) < 64
    subprocess.run(["objcopy", "--strip-symbol=first", program], check=True)
    run = profile(tmp_path, program, rate_hz=997)
    assert run.folded.where(lambda stack: re.fullmatch(r"\[first\+0x[0-9a-f]+\]", stack[-1])) > 0.9 * run.folded.total

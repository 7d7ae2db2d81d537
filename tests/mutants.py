#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Mutation testing: `mutants.py N SEED` makes N small mistakes, one at a time, in lines of cli/ and
# libprof/ that unit programs run, and prints for each whether a test fails. In an unchanged tree,
# the same N and SEED choose the same mistakes. So a second run without a certain test shows which
# mistakes only this test notices.
#
# The mistakes are made in a copy below build/mutants. This copy is first built with --coverage, to
# see which unit programs run which line. For a mistake in a line only these programs are linked
# anew, and run until one fails: this takes seconds, but all programs would take minutes. If none of
# them fails, the end-to-end tests of the folder (see END_TO_END) run until one fails.
#
# A mistake that does not compile is counted separately. A few in a hundred mistakes do not change
# the program's behaviour, so no test can notice them. Survivors are listed for a person to read.
import collections
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TREE = ROOT / "build" / "mutants" / "tree"
UNITS = "build/tests/unit"
APART = "MUTANTS_APART"  # in the environment: keep_devices() has run already
PROGRAMS = 12  # at most, the quickest first, for each mistake: more of them notice little more
UNIT_S, END_TO_END_S = 60, 300

# Folder, and the files of tests/e2e that test it, quickest first. The first entry that fits counts.
END_TO_END = (
    ("cli/outside/wait", "test_waits.py test_waits_locks.py"),
    ("cli/outside", "test_outside_refusals.py test_outside_attach.py test_outside_programs.py"),
    ("cli/symbols", "test_profile_stripped.py test_profile_processes.py test_first_day.py "
                    "test_outputs_lines.py"),
    ("cli/compare", "test_diff.py test_diff_runs.py test_repeat.py"),
    ("cli/store", "test_store.py test_clickhouse.py"),
    ("cli/formats", "test_outputs_filters.py test_formats_pprof.py test_vm_stacks.py "
                    "test_formats_svg.py test_formats_speedscope.py test_formats_firefox.py "
                    "test_merge.py test_job.py"),
    ("cli/gather", "test_profile_reader.py test_profile_ends.py test_profile_mixed.py"),
    ("cli/profile", "test_profile_ends.py test_outputs_filters.py test_formats_pprof.py test_perl.py"),
    ("cli", "test_contract_options.py test_contract_launch.py test_settings.py test_first_day.py "
            "test_outputs_names.py test_hostile.py"),
    ("libprof/session", "test_library_session.py test_library_scopes.py test_library_snapshot.py"),
    ("libprof/aggregator", "test_library_session.py test_library_draws.py"),
    ("libprof/trampoline", "test_stubs.py test_stub_tools.py test_trampolines.py"),
    ("libprof/runtime/hotspot", "test_java_truth.py"),
    ("libprof/runtime/lua", "test_lua_truth.py"),
    ("libprof/runtime/perl", "test_perl.py"),
    ("libprof/runtime/php", "test_php.py"),
    ("libprof/runtime/ruby", "test_ruby.py"),
    ("libprof/runtime/v8", "test_node_truth.py"),
    ("libprof/runtime", "test_python.py test_python_truth.py"),
    ("libprof/interrupt", "test_library_interrupts.py test_lua_stacks.py"),
    ("libprof/waits", "test_waits.py test_waits_locks.py test_library_waits.py"),
    ("libprof/vmstack", "test_vm_stacks.py test_lua_stacks.py"),
    ("libprof", "test_profile_shapes.py test_profile_processes.py test_guest_lives.py "
                "test_guest_signals.py"),
)

# Typical slips in a line of code: (pattern, replacement).
SLIPS = (
    (r"(?<=[\w)\]] )<(?= )", "<="), (r"(?<=[\w)\]] )<=(?= )", "<"),
    (r"(?<=[\w)\]] )>(?= )", ">="), (r"(?<=[\w)\]] )>=(?= )", ">"),
    (r"==", "!="), (r"!=", "=="), (r"&&", "||"), (r"\|\|", "&&"),
    (r"(?<=[( ])!(?=[\w(])", ""),
    (r"(?<= )\+(?= )", "-"), (r"(?<=[\w)\]] )-(?= )", "+"),
    (r"\+\+", "--"), (r"(?<= )\+=(?= )", "-="), (r"(?<= )-=(?= )", "+="),
    (r"(?<!-)\b[1-9]\d{0,5}(?=[u;,) \]])", lambda match: str(int(match[0]) + 1)),
    (r"(?<=return )-E[A-Z]+(?=;)", "0"),
)


def slips_of(line):
    """Yields each line that a single slip could make of @line."""
    code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])+\'|/\*.*?\*/', lambda m: " " * len(m[0]), line)
    for pattern, replacement in SLIPS:
        for match in re.finditer(pattern, code):
            new = replacement(match) if callable(replacement) else replacement
            yield line[:match.start()] + new + line[match.end():]
    if re.fullmatch(r"\t+\w+\(.*\);", line):
        yield "\t;"


def make(*words, **more):
    return subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *words], cwd=TREE, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more).returncode


def copy_tree():
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).exists():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    return [pathlib.Path(name).stem for name in files if name.startswith("tests/unit/test-")
            and name.endswith(".c")]


def coverage(programs):
    """Returns {(file, line): the programs that run it, the quickest first}."""
    build = TREE / "build" / "coverage"
    flags = [f"BUILD={build.relative_to(TREE)}", "CFLAGS=--coverage", "LDFLAGS=--coverage"]
    assert not make(*flags, *(f"{build.relative_to(TREE)}/tests/unit/{name}" for name in programs))
    took, runs = {}, collections.defaultdict(list)
    for name in programs:
        for path in build.rglob("*.gcda"):
            path.unlink()
        before = os.times()
        took[name] = 0 if run([build / "tests/unit" / name], UNIT_S) else os.times()[4] - before[4]
        paths = [str(path) for path in (build / "obj").rglob("*.gcda")]
        if not paths or not took[name]:
            continue  # it fails without a mistake: its later failures would mean nothing
        text = subprocess.run(["gcov", "-j", "-t", *paths], cwd=TREE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout
        found = {(file["file"], line["line_number"]) for entry in text.splitlines()
                 for file in json.loads(entry)["files"] for line in file["lines"] if line["count"]}
        for where in found:
            runs[where].append(name)
    return {where: sorted(names, key=took.get) for where, names in runs.items()}


def run(command, limit_s):
    """Returns whether the command failed, or took longer than the limit."""
    try:
        return subprocess.run(command, cwd=TREE, timeout=limit_s, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def who_notices(path, programs):
    """Returns the test that fails; None if none does; "compiler" if the file does not compile."""
    programs = programs[:PROGRAMS]
    for name in programs:
        if make(f"{UNITS}/{name}"):
            return "compiler"
        if run([f"{UNITS}/{name}"], UNIT_S):
            return name
    if make("all"):
        return "compiler"
    for test in next(tests for folder, tests in END_TO_END if path.startswith(folder)).split():
        if run(["env", f"TEST_BUILD={TREE}/build", "pytest-3", "-q", "-x", "-p", "no:cacheprovider",
                f"tests/e2e/{test}"], END_TO_END_S):
            return test
    return None


def keep_devices():
    """
    Protect devices from mistakes in the code that replaces files, which as root could replace
    /dev/full by a file. As root, start again in a mount namespace in which devices are mounted on
    themselves, because a file cannot be renamed over a mount.
    """
    if os.geteuid() or os.environ.get(APART):
        return
    mounts = "".join(f"mount --bind {path} {path} && "
                     for path in ("/dev/full", "/dev/null", "/dev/zero"))
    os.execvpe("unshare", ["unshare", "--mount", "sh", "-c", mounts + 'exec "$0" "$@"',
                           sys.executable, *sys.argv], {**os.environ, APART: "1"})


def main():
    keep_devices()
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    programs = copy_tree()
    assert not make("all", "examples", *(f"{UNITS}/{name}" for name in programs)), "it does not build"
    covered = coverage(programs)
    mistakes = []
    for path, number in sorted(covered):
        if path.startswith(("cli/", "libprof/")) and path.endswith(".c"):
            line = (TREE / path).read_text().split("\n")[number - 1]
            mistakes += [(path, number, line, slip) for slip in slips_of(line) if slip != line]
    tally = collections.defaultdict(collections.Counter)
    survivors = []
    for path, number, line, slip in random.Random(seed).sample(mistakes, min(count, len(mistakes))):
        source = TREE / path
        text = source.read_text()
        lines = text.split("\n")
        lines[number - 1] = slip
        source.write_text("\n".join(lines))
        noticed = who_notices(path, covered[path, number])
        source.write_text(text)
        kind = "not built" if noticed == "compiler" else "killed" if noticed else "survived"
        tally[os.path.dirname(path)][kind] += 1
        print(f"{kind:9} {path}:{number}: {line.strip()}  ->  {slip.strip()}"
              f"{'  by ' + noticed if kind == 'killed' else ''}", flush=True)
        if not noticed:
            survivors.append(f"{path}:{number}: {line.strip()}  ->  {slip.strip()}")
    make("all")
    print(f"\n{'folder':24} killed survived not built")
    for folder, kinds in sorted(tally.items()):
        print(f"{folder:24} {kinds['killed']:6} {kinds['survived']:8} {kinds['not built']:9}")
    print(f"{'all':24} " + " ".join(str(sum(kinds[kind] for kinds in tally.values()))
                                    for kind in ("killed", "survived", "not built")))
    print("\nsurvivors:", *survivors, sep="\n  ")


main()

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Measure `flamerun diff`: how often it reports a change between equal runs of two programs, split
# at random, and how often it finds a real change, by size of the change and number of runs. Also
# count how many functions of equal runs differ by more than 10 %, which difffolded.pl and pprof
# -diff_base show. Prints; asserts nothing.
#
# usage: bench_diff.py [runs [splits]]     BUILD: the build folder
# POOL: a folder that keeps the recorded runs. Runs that are in it are not recorded again.
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import diffs  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
FLAMERUN = str(BUILD / "flamerun")
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SPLITS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ROUNDS = 80  # make versions.c run for two seconds
TRIALS = 100


def output_of(*words):
    return subprocess.run([str(word) for word in words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def programs(folder):
    """Return {name: command line}. All runs of a command line are equal."""
    versions, source, preprocessed = folder / "versions", folder / "regex.cc", folder / "regex.ii"
    output_of("gcc", "-O2", "-g", "-D_GNU_SOURCE", f"-I{ROOT}", ROOT / "tests/targets/versions.c", "-o",
              versions)
    source.write_text("#include <regex>\n#include <map>\nint main(int, char **argv) { std::map<std::string,"
                      " int> m; m[argv[0]] = std::regex_match(argv[0], std::regex(argv[1])); }\n")
    output_of("g++", "-E", source, "-o", preprocessed)
    compiler = output_of("g++", "-print-prog-name=cc1plus").strip()
    return {"versions": [versions, ROUNDS],
            "cc1plus": [compiler, "-fpreprocessed", preprocessed, "-quiet", "-O1", "-o", "/dev/null"]}


def make_pools(folder):
    """Record the runs of the programs in turns, so that other load affects all of them alike."""
    pools = {name: [folder / f"{name}-{i:03}.pb.gz" for i in range(RUNS)] for name in ("versions", "cc1plus")}
    if all(path.exists() for pool in pools.values() for path in pool):
        return pools
    commands = programs(folder)
    for i in range(RUNS):
        for name, words in commands.items():
            if not pools[name][i].exists():
                output_of(FLAMERUN, "-q", "-o", pools[name][i], "--", *words)
    return pools


def compare(words):
    return json.loads(output_of(FLAMERUN, "-q", "diff", "--json", *words))


def is_alarm(found):
    return found.get("program", {}).get("significant", False) or any(one["significant"] for one in found["changes"])


def print_alarms(name, pool, each, splits):
    draw = random.Random(each)
    words = []
    for _ in range(splits):
        drawn = draw.sample(pool, 2 * each)
        words.append([*drawn[:each], "--", *drawn[each:]])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = list(workers.map(compare, words))
    alarms = sum(map(is_alarm, found)) / splits
    changes = [one for one in (one for split in found for one in split["changes"]) if one["change"] is not None]
    apart = sum(abs(one["change"]) > 0.1 for one in changes) / len(changes)
    seen = sorted(split["detectable"] or 9 for split in found)[splits // 2]
    print(f"{name}, {each} + {each} equal runs: an alarm in {alarms:.1%} of {splits} comparisons; "
          f"{apart:.0%} of functions differ by more than 10 %; 10 % would be seen from {seen:+.0%} on",
          flush=True)


def print_power(folder, each, effect):
    """
    Compare made-up runs (4000 samples, 20 s) in which a function with 10 % of the time is slower by
    @effect.
    """
    found = wrong = 0
    for trial in range(TRIALS):
        words = diffs.two_sides(folder, trial, each, 4000, {"tenth": 1 + effect})
        named = {one["name"] for one in compare(words)["changes"] if one["named"]}
        found += "tenth" in named
        wrong += bool(named - {"tenth"})
    print(f"made runs, {each} + {each}, a 10 % function {effect:.0%} slower: found in {found} of {TRIALS}, "
          f"others named in {wrong}", flush=True)


def main():
    print(shlex.join(map(str, [FLAMERUN, "diff"])), f"{RUNS} runs, {SPLITS} splits")
    with tempfile.TemporaryDirectory(prefix="bench-diff.") as temporary:
        folder = pathlib.Path(os.environ.get("POOL", temporary))
        folder.mkdir(exist_ok=True)
        for name, pool in make_pools(folder).items():
            for each in (2, 3, 5, 10):
                print_alarms(name, pool, each, SPLITS)
        for each in (3, 5, 10):
            for effect in (.05, .10, .15, .30):
                print_power(pathlib.Path(temporary), each, effect)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
#
# Runs to compare: recorded runs, and generated runs whose true differences are known.
# goldens/diff_NAME.txt.xz has a line for each stack: the stack, a tab, then for each run that has
# the stack its number and (if not 1) the count. "versions" has 60 runs of 2 seconds of
# tests/targets/versions.c, then 60 runs in which tenth() is 15 % slower. "cc1plus" has 20 runs of a
# compiler, of which only the innermost four frames are kept.
import lzma
import math
import pathlib
import random

GOLDENS = pathlib.Path(__file__).parent / "goldens"
RECORDED = {"versions": 120, "cc1plus": 20}

# The stacks below main() of tests/targets/versions.c, each with its true share in percent.
SHARES = {
    "read_input;parse;work_[i];spin_[i]": 20, "read_input;scan;work_[i];spin_[i]": 10,
    "plan;order;work_[i];spin_[i]": 15, "plan;choose;work_[i];spin_[i]": 5, "plan;work_[i];spin_[i]": 5,
    "tenth;spin_[i]": 10, "write_output;format;work_[i];spin_[i]": 12,
    "write_output;pack;work_[i];spin_[i]": 8, "small_a;work_[i];spin_[i]": 1,
    "small_b;work_[i];spin_[i]": 2, "small_c;work_[i];spin_[i]": 3, "small_d;work_[i];spin_[i]": 4,
    "small_e;work_[i];spin_[i]": 5}
# Relative standard deviation from run to run: of the length of a run, and of each function in it.
RUNS_VARY, FUNCTIONS_VARY = 0.02, 0.01


def recorded(name, folder):
    """Write files of folded stacks, one for each recorded run, and return their paths."""
    runs = [[] for _ in range(RECORDED[name])]
    with lzma.open(GOLDENS / f"diff_{name}.txt.xz", "rt") as lines:
        for line in lines:
            stack, seen = line.rstrip("\n").split("\t")
            for cell in seen.split():
                run, _, count = cell.partition(":")
                runs[int(run)].append(f"{stack} {count or 1}\n")
    paths = [folder / f"{name}-{i:03}.folded" for i in range(len(runs))]
    for path, run in zip(paths, runs):
        path.write_text("".join(run))
    return paths


def toss(draw, mean):
    """
    A Poisson-distributed random count with this mean; above 60 a normal distribution approximates
    it.
    """
    if mean > 60:
        return max(0, round(draw.gauss(mean, math.sqrt(mean))))
    count, left = 0, draw.expovariate(1)
    while left < mean:
        count += 1
        left += draw.expovariate(1)
    return count


def made(path, draw, samples, factors=None):
    """
    Write a run of @samples samples, in which functions take a multiple @factors of their usual
    time.
    """
    whole = math.exp(draw.gauss(0, RUNS_VARY))
    with path.open("w") as out:
        for stack, share in SHARES.items():
            mean = samples * share / 100 * whole * math.exp(draw.gauss(0, FUNCTIONS_VARY))
            for name, factor in (factors or {}).items():
                if name in stack.split(";"):
                    mean *= factor
            count = toss(draw, mean)
            if count:
                out.write(f"_start;main;{stack} {count}\n")
    return path


def two_sides(folder, seed, runs, samples, factors):
    """Make @runs runs each of an old and of a new version. Returns the words for flamerun diff."""
    draw = random.Random(seed)
    old = [made(folder / f"old-{i}.folded", draw, samples) for i in range(runs)]
    new = [made(folder / f"new-{i}.folded", draw, samples, factors) for i in range(runs)]
    return [*old, "--", *new]

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Draw a job of 1,000 nodes with 100 ranks each as one picture. The files are made from those of a
# real job of 64 ranks, whose stacks are merged into one table: weights are changed at random, and
# each node has a few stacks that no other node has. Then merge 1,000 pprof profiles of 3,000
# stacks, and do the same with `pprof -proto` if it is installed.
#
# BASE=heat bench_job.py    the folder of a real job; without it a job of compilers is recorded
import concurrent.futures
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from pprof import fields, message, numbers  # noqa: E402

FLAMERUN = pathlib.Path(os.environ.get("BUILD", "build")).resolve() / "flamerun"
NODES, RANKS, STACKS = 1000, 100, 3000
REAL_RANKS, OWN_STACKS = 64, 1500


def field(number, value):
    return message((number, value))


class Base:
    """
    The ranks of a job with one table of stacks: texts, columns 8 to 14, and ranks as {stack:
    weight}.
    """

    def __init__(self, folder):
        self.texts, self.frames, self.stacks, self.ranks = {}, {}, {}, []
        for path in sorted(pathlib.Path(folder).glob("*.ranks")):
            self.add(path.read_bytes())
        self.columns = {8 + i: list(column) for i, column in enumerate(zip(*self.frames))}
        parents, frames = zip(*self.stacks)
        self.columns[13] = [i + 1 - parent for i, parent in enumerate(parents)]
        self.columns[14] = list(frames)

    def add(self, data):
        texts, columns, ranks = [], {}, []
        for number, value in fields(data):
            if number == 7:
                texts.append(self.texts.setdefault(value, len(self.texts)))
            elif 8 <= number <= 14:
                columns[number] = numbers(value)
            elif number == 15:
                ranks.append(dict(fields(value)))
        # Name, module and file are indices of texts. Kind and line are numbers.
        frames = [self.frames.setdefault((texts[name], texts[module], kind, texts[file], line), len(self.frames))
                  for name, module, kind, file, line in zip(*(columns[key] for key in range(8, 13)))]
        place = [0]
        for step, frame in zip(columns[13], columns[14]):
            stack = (place[len(place) - step], frames[frame])
            place.append(self.stacks.setdefault(stack, len(self.stacks) + 1))
        for rank in ranks:
            at, weights = 0, {}
            for step, weight in zip(numbers(rank.get(7, b"")), numbers(rank.get(8, b""))):
                at += step
                weights[place[at]] = weights.get(place[at], 0) + weight
            self.ranks.append(weights)


def record(folder):
    """Record a real job: 64 compilers in an MPI launcher's environment, two at a time."""
    source = pathlib.Path(folder) / "one.cc"
    source.write_text("#include <regex>\n#include <iostream>\n")

    def run(rank):
        own = {"PMI_RANK": str(rank), "PMI_SIZE": str(REAL_RANKS), "SLURMD_NODENAME": f"n{rank // 16}"}
        subprocess.run([FLAMERUN, "-q", f"--job={folder}/one", "-r", "500", "--", "g++", "-fsyntax-only",
                        source], check=True, env=os.environ | own,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(REAL_RANKS)))
    return f"{folder}/one"


def make_node(base, number, draw):
    """
    Return the file of a node: at least STACKS stacks, and the real job's ranks with other weights.
    """
    texts, ranks = [*base.texts, b"of_node_%d" % number], base.ranks
    columns = {key: list(values) for key, values in base.columns.items()}
    for key, value in zip(range(8, 13), (len(texts) - 1, 0, 0, 0, 0)):
        columns[key].append(value)
    rare = len(columns[8]) - 1
    known = len(columns[13])
    leaves = []
    # Add deeper copies of real stacks, equal in all nodes, until a real profile's size is reached.
    for i in range(known + 1, max(STACKS, known + OWN_STACKS) + 1):
        parent = (i * 7919) % (i - 1) + 1
        columns[13].append(i - parent)
        columns[14].append((i * 31) % rare)
        leaves.append(i)
    for _ in range(5):
        columns[13].append(draw.randint(1, known))
        columns[14].append(rare)
        leaves.append(len(columns[13]))
    out = [field(1, b"flamerun-ranks 1"), field(2, b"1"), field(3, b"n%04d" % number),
           field(4, b"bench"), field(5, 5076142), field(6, NODES * RANKS), field(16, RANKS),
           field(17, RANKS)]
    out += [field(key, columns[key]) for key in range(8, 15)]
    out += [field(7, text) for text in texts]
    for i in range(RANKS):
        weights = {stack: max(1, int(weight * draw.uniform(0.8, 1.2)))
                   for stack, weight in ranks[i % len(ranks)].items()}
        for leaf in draw.sample(leaves, OWN_STACKS):
            weights[leaf] = draw.randint(1, 20)
        stacks = sorted(weights)
        steps = [after - before for before, after in zip([0] + stacks, stacks)]
        out.append(field(15, field(1, number * RANKS + i) + field(2, 1) + field(4, 10**10) +
                         field(7, steps) + field(8, [weights[stack] for stack in stacks])))
    return b"".join(out)


def measure(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    result = subprocess.run(["/usr/bin/time", "-f", "%M", *words], capture_output=True, text=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(result.stderr.split()[-1]) / 1024
    return f"{wall:6.2f} s, {cpu:6.2f} s of CPU, {peak:6.0f} MiB" + \
        ("" if result.returncode == 0 else f" FAILED: {result.stderr[-300:]}")


def main():
    with tempfile.TemporaryDirectory(prefix="flamerun-bench.") as folder:
        path = pathlib.Path(folder)
        base = Base(os.environ.get("BASE") or record(folder))
        print(f"made from {len(base.ranks)} real ranks with {len(base.stacks)} stacks")
        (path / "job").mkdir()
        draw = random.Random(1)
        # Make twenty nodes and copy them under other names and ranks. Stacks still differ by node.
        for number in range(NODES):
            if number < 20:
                made = make_node(base, number, draw)
            data = made if number < 20 else make_copy(path, number)
            (path / "job" / f"n{number:04}.ranks").write_bytes(data)
        size = sum(file.stat().st_size for file in (path / "job").iterdir())
        print(f"{NODES} files of {RANKS} ranks, {size / NODES / 1000:.0f} KB each:",
              measure([FLAMERUN, "merge", path / "job", "-o", path / "job.svg"]))
        make_profiles(path)
        files = sorted((path / "profiles").iterdir())
        print(f"{len(files)} pprof profiles of {files[0].stat().st_size / 1000:.0f} KB:",
              measure([FLAMERUN, "merge", *files, "-o", path / "all.pb.gz"]))
        pprof = shutil.which("pprof")
        words = [pprof] if pprof else ["go", "tool", "pprof"]
        if pprof or shutil.which("go"):
            print(f"{' '.join(words)} -proto:",
                  measure([*words, "-proto", "-output", path / "theirs.pb.gz", *files]))


def make_copy(path, number):
    """Return a copy of a node's file under the name, ranks and rare stacks of node @number."""
    data = (path / "job" / f"n{number % 20:04}.ranks").read_bytes()
    out = []
    for key, value in fields(data):
        if key == 3:
            value = b"n%04d" % number
        elif key == 7 and value.startswith(b"of_node_"):
            value = b"of_node_%d" % number
        elif key == 15:
            rank = [(k, number * RANKS + v % RANKS if k == 1 else v) for k, v in fields(value)]
            if number * RANKS and rank[0][0] != 1:
                rank.insert(0, (1, number * RANKS))
            value = b"".join(field(k, v) for k, v in rank)
        out.append(field(key, value))
    return b"".join(out)


def make_profiles(path):
    """Make 1,000 profiles of ten runs of a compiler. Each has 3,000 stacks and 95 KB."""
    (path / "profiles").mkdir()
    (path / "one.cc").write_text("#include <regex>\n#include <iostream>\nint f(const char *s) "
                                 "{ std::cout << s; return std::regex_match(s, std::regex(\"a(b|c)*d\")); }\n")
    for i in range(1000):
        file = path / "profiles" / f"{i:04}.pb.gz"
        if i < 10:
            subprocess.run([FLAMERUN, "-q", "-r", "700", "-o", file, "--", "g++", "-O2", "-g", "-c",
                            path / "one.cc", "-o", "/dev/null"], check=True)
        else:
            shutil.copy(path / "profiles" / f"{i % 10:04}.pb.gz", file)


sys.exit(main())

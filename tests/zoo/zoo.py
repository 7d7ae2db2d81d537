#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Test flamerun with programs in the languages of Debian. Each program is run without flamerun
# ("bare") and then sampled. zoo.py [core|zoo|all|NAME...] builds and checks these rows of rows.py,
# prints a table and writes it to build/zoo.md. zoo.py --packages core|zoo|all prints their Debian
# packages. The variable FLAMERUN may name another flamerun.
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import rows

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FLAMERUN = pathlib.Path(os.environ.get("FLAMERUN") or ROOT / "build" / "flamerun").resolve()
ZOO = ROOT / "build" / "zoo"
LIMIT_S = 300
COLUMNS = ("row", "version", "samples / CPU time %", "own %", "named %", "incomplete %", "heavy %", "verdict")
# Use only Debian's programs, and no settings of the user.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(ZOO / "home"), "LANG": "C.UTF-8",
               "GOCACHE": str(ROOT / "build" / "go-cache"), "GO111MODULE": "off"}

# Import these modules only when a row is checked, because --packages must work before
# python3-pytest is installed.
def statistics():
    os.environ["TEST_BUILD"] = str(FLAMERUN.parent)
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    import folded
    import profiled
    return folded, profiled


class Run:
    """
    One run of @words in @folder: status, stdout, stderr, and CPU seconds of the program and of its
    children.
    """

    def __init__(self, words, folder, environment):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        began = time.monotonic()
        with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err, \
                subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 env=environment, start_new_session=True) as process:
            timer = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            timer.cancel()
            # The process is not reaped yet, so /proc still has its CPU times.
            stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            os.killpg(process.pid, signal.SIGKILL)
            self.status = process.wait()
        self.elapsed_s = time.monotonic() - began
        own, waited = (int(stat[at]) + int(stat[at + 1]) for at in (11, 13))
        self.own_s, self.waited_s = (ticks / os.sysconf("SC_CLK_TCK") for ticks in (own, waited))
        self.stdout = (folder / "stdout").read_text(errors="replace")
        self.stderr = (folder / "stderr").read_text(errors="replace")
        self.is_outside = "sampled from outside" in self.stderr
        # The CPU time of the program. Use the time that flamerun prints if its tracer, which is a
        # child, also used CPU time, or if wait() did not add up the times of the program's
        # children.
        stated = re.search(r"([\d.]+) s of CPU time", self.stderr)
        self.program_s = self.waited_s if words[0] == FLAMERUN else self.own_s + self.waited_s
        if stated and (self.is_outside or self.program_s < .1):
            self.program_s = float(stated.group(1))


class Judged:
    """
    A sampled run of @row, compared with the run @bare: figures for the table, and a list of
    problems.
    """

    def __init__(self, row, bare, run, rate_hz):
        folded, profiled = statistics()
        self.wrong = []
        self.run = run
        path = run.folder.parent / f"{run.folder.name}.folded"
        text = path.read_text(errors="replace") if path.exists() else ""
        self.stacks = folded.Folded(text)
        if run.status != bare.status:
            self.wrong.append(f"status {run.status}, bare {bare.status}")
        if row.same_output and run.stdout != bare.stdout:
            self.wrong.append("another stdout than bare")
        for words in row.says:
            if not re.search(words, run.stderr):
                self.wrong.append(f"does not say '{words}'")
        total = self.stacks.total - self.stacks.below("[unsampled]")
        due = rate_hz * min(run.program_s, bare.program_s) if bare.program_s > .1 else rate_hz * run.program_s
        self.covered = total / due if due else 0
        if self.covered < row.sampled:
            self.wrong.append(f"{total} samples of {due:.0f}")
        self.incomplete = self.share(lambda stack: "[incomplete stack]" in stack)
        if self.incomplete > row.incomplete:
            self.wrong.append(f"{self.incomplete:.1%} incomplete")
        self.named = self.share(lambda stack: not re.fullmatch(r"\[.*(\+0x[0-9a-f]+|unknown code)\]", stack[-1]))
        if self.named < row.named:
            self.wrong.append(f"{self.named:.1%} named")
        self.own = self.heavy = 0
        if row.own:
            if run.is_outside:
                looks = profiled.OUTSIDE_LOOKS
            else:
                looks = 1 if profiled.has_events() else folded.distinct(rate_hz)
            self.judge_truth(row, folded, looks)

    def share(self, condition):
        return self.stacks.where(condition) / self.stacks.total if self.stacks.total else 0

    def judge_truth(self, row, folded, looks):
        """
        Check that two thirds of the program's work are in heavy(), one third in light(), both below
        deep().
        """
        parts = folded.Folded("")
        spinning = whole = 0
        for stack, weight in self.stacks.stacks:
            names = [frame.lower() for frame in stack]
            depth = sum(bool(re.search(row.deep, name)) for name in names)
            found = [part for part in ("heavy", "light") if depth and any(part in name for name in names)]
            parts.stacks += [((part,), weight) for part in found]
            spinning += weight * bool(found or any(re.search("(?<![a-z])spin(?![a-z])", name) for name in names))
            whole += weight * (depth == 51 and len(found) == 1)
        self.own = parts.total / max(1, self.stacks.total)
        self.heavy = parts.below("heavy") / max(1, parts.total)
        if self.own < row.own:
            self.wrong.append(f"{self.own:.1%} below its own functions")
        if whole < row.whole * spinning:
            self.wrong.append(f"{whole / spinning:.1%} of spin() is below heavy() or light() and 51 frames of {row.deep}")
        try:
            folded.assert_truth(parts, {"heavy": 2, "light": 1}, looks)
        except AssertionError as error:
            self.wrong.append(str(error).splitlines()[0])


def installed(package):
    """The version of a Debian package, without epoch and revision; None if it is not installed."""
    result = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", package],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = re.match(r"ii *(?:\d+:)?([^-+~]+)", result.stdout)
    return found and found.group(1)


def judge(row):
    """The cells of @row, the last of which is "ok", "skipped: ..." or a list of problems."""
    try:
        return run_and_judge(row)
    except Exception as error:
        return (row.name, *[""] * (len(COLUMNS) - 2), f"cannot be judged: {error!r}")


def run_and_judge(row):
    versions = [installed(package) for package in row.packages.split()]
    missing = [package for package, version in zip(row.packages.split(), versions) if not version]
    if missing:
        return (row.name, "", "", "", "", "", "", f"skipped: no {' '.join(missing)} here")
    folder = ZOO / row.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fill = {"p": str(HERE / "programs"), "b": str(folder), "root": str(ROOT)}
    cells = [row.name, versions[0]]
    if row.build:
        built = subprocess.run(["sh", "-ec", row.build.format(**fill)], cwd=folder, env=ENVIRONMENT, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if built.returncode:
            lines = built.stdout.strip().splitlines() or ["nothing said"]
            return (*cells, "", "", "", "", "", f"cannot be built: {lines[-1]}")
    environment = {**ENVIRONMENT, **{name: text.format(**fill) for name, text in row.env.items()}}
    words = [word.format(**fill) for word in shlex.split(row.run)]
    bare = Run(words, folder / "bare", environment)
    wrong = [f"bare: status {bare.status}"] if bare.status != row.status else []
    # The default rate samples by timers; a higher rate by perf events, if the machine has them.
    rates = [197] + ([997] if statistics()[1].has_events() else [])
    judged = []
    for rate_hz in rates:
        run = Run([FLAMERUN, "--no-config", "-r", str(rate_hz), *row.options.split(), "-o",
                   folder / f"{rate_hz}.folded", "--", *words], folder / str(rate_hz), environment)
        one = Judged(row, bare, run, rate_hz)
        if row.also:
            one.wrong += row.also(bare, run)
        wrong += [f"{rate_hz} Hz: {text}" for text in one.wrong]
        judged.append(one)
    for field in ("covered", "own", "named", "incomplete", "heavy"):
        digits = 1 if field in ("incomplete", "heavy") else 0
        cells.append(" ".join(f"{100 * getattr(one, field):.{digits}f}" for one in judged))
    if not row.own:
        cells[3] = cells[6] = row.instead
    return (*cells, "; ".join(wrong) or "ok")


def chosen(words):
    tiers = {"core": ("core",), "zoo": ("core", "zoo"), "all": ("core", "zoo", "all")}
    return [row for row in rows.ROWS
            if any(row.tier in tiers.get(word, ()) or fnmatch.fnmatch(row.name, word) for word in words)]


def main():
    words = sys.argv[1:] or ["zoo"]
    if words[0] == "--packages":
        print(*sorted({package for row in chosen(words[1:]) for package in row.packages.split()}))
        return
    began = time.monotonic()
    (ZOO / "home").mkdir(parents=True, exist_ok=True)
    table = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for future in concurrent.futures.as_completed([pool.submit(judge, row) for row in chosen(words)]):
            cells = future.result()
            print(f"  {cells[0]:20} {cells[-1]}", flush=True)
            table[cells[0]] = (*cells[:-1], cells[-1].split("; ")[0])
    # On a busy machine, one of a hundred rows exceeds its statistical bound by chance.
    twice = [row for row in chosen(words) if table[row.name][-1] != "ok" and
             not table[row.name][-1].startswith("skipped")]
    for row in twice:
        cells = judge(row)
        print(f"  {cells[0]:20} run twice: {cells[-1]}", flush=True)
        table[row.name] = (*cells[:-1], cells[-1].split("; ")[0])
    ordered = [COLUMNS, *(table[row.name] for row in chosen(words))]
    widths = [max(len(cells[at]) for cells in ordered) for at in range(len(COLUMNS) - 1)]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, [*widths, 0])) + " |" for cells in ordered]
    lines.insert(1, "|" + "---|" * len(COLUMNS))
    (ROOT / "build" / "zoo.md").write_text("\n".join(lines) + "\n")
    print(*lines, sep="\n")
    verdicts = [cells[-1] for cells in table.values()]
    passed, skipped = verdicts.count("ok"), sum(text.startswith("skipped") for text in verdicts)
    failed = len(verdicts) - passed - skipped
    print(f"{failed} failed, {passed} passed, {skipped} skipped, {len(twice)} rerun in {time.monotonic() - began:.0f} s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

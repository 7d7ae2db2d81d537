# SPDX-License-Identifier: MIT
#
# Files of other profilers, written by these profilers here: each is refused by its name, with the
# command that converts it, and nothing is drawn. The table is cli/formats/foreign.c.
import os
import shutil
import subprocess

import pytest

C = "int main(void) { for (volatile int i = 0; i < 30000000; i++); return 0; }\n"
SCRIPT = "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(15)\n"
JAVA = "public class J { public static void main(String[] a) throws Exception { Thread.sleep(300); } }\n"
# What writes a file, how flamerun calls the file, a part of the hint, and the name of the file.
# ./t is a small program in C.
WRITERS = {
    "callgrind": ("valgrind --tool=callgrind --callgrind-out-file=x ./t", "a profile of callgrind", "flamerun -- "),
    "cachegrind": ("valgrind --tool=cachegrind --cachegrind-out-file=x ./t", "a profile of cachegrind", "flamerun -- "),
    "massif": ("valgrind --tool=massif --massif-out-file=x ./t", "a profile of massif", "ms_print"),
    "dhat": ("valgrind --tool=dhat --dhat-out-file=x ./t", "a profile of DHAT", "dh_view.html"),
    "gprof": ("gcc -pg -o gp t.c && ./gp && mv gmon.out x", "a profile of gprof (gmon.out)", "flamerun -- "),
    "pstats": ("/usr/bin/python3 -m cProfile -o x s.py", "a profile of Python (cProfile, pstats)", "flamerun -- "),
    "heaptrack": ("heaptrack -o h ./t >/dev/null && mv h.* x", "zstd data", "heaptrack_print -f FILE -F run.folded"),
    "heaptrack-text": ("heaptrack -o h ./t >/dev/null && zstd -qdc h.* >x", "a recording of heaptrack",
                       "heaptrack_print -f FILE -F run.folded"),
    "perf-report": ("perf record -q -e cpu-clock -o p.data ./t && perf report -i p.data --stdio >x 2>&1",
                    "what perf report prints", "flamerun render perf.data"),
    "jfr": ("java -XX:StartFlightRecording=filename=x,settings=profile J.java", "a recording of Java's Flight Recorder (JFR)",
            "jfrconv"),
    "hprof": ("java -XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=x -Xmx8m O.java >/dev/null 2>&1 || :", "a heap dump of Java (HPROF)", ""),
    "cpuprofile": ("node --cpu-prof --cpu-prof-name=x -e 'for (let i = 0; i < 1e7; i++);'", "a CPU profile of V8", "flamerun -- node"),
    "go-text": ("go run g.go >x", "a text profile of Go", "without debug=1"),
    "log": ("date '+%F %T INFO took 17' >x", "a log", ""),
}
FULL = "public class O { public static void main(String[] a) { long[] big = new long[1 << 26]; } }\n"
GO = """package main
import ("os"; "runtime/pprof")
func main() { pprof.Lookup("goroutine").WriteTo(os.Stdout, 1) }
"""


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_of_another_program_is_named(run, tmp_path, writer):
    command, what, hint = WRITERS[writer]
    needed = [word for word in ("valgrind", "gcc", "heaptrack", "zstd", "perf", "java", "node", "go")
              if f"{word} " in command]
    missing = [tool for tool in needed if not shutil.which(tool)]
    if missing:
        pytest.skip(f"no {missing[0]}")
    (tmp_path / "s.py").write_text(SCRIPT)
    (tmp_path / "J.java").write_text(JAVA)
    (tmp_path / "g.go").write_text(GO)
    (tmp_path / "O.java").write_text(FULL)
    (tmp_path / "t.c").write_text(C)
    subprocess.run(["gcc", "-g", "-o", "t", "t.c"], cwd=tmp_path, check=True)
    made = subprocess.run(["sh", "-ec", command], cwd=tmp_path, text=True, timeout=120,
                          env={**os.environ, "GOCACHE": str(tmp_path / "go")}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert made.returncode == 0 and (tmp_path / "x").stat().st_size > 0, made.stdout
    result = run("render", "x", "-o", "y.svg")
    assert result.returncode == 125
    lines = result.stderr.splitlines()
    assert lines[0] == f"flamerun: 'x' is {what}, which flamerun does not read"
    assert hint in "".join(lines[1:]) and len(lines) <= 2
    assert not (tmp_path / "y.svg").exists()

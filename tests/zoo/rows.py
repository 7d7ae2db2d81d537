# SPDX-License-Identifier: MIT
#
# The rows of the zoo, see zoo.py: a program each. In commands {p} is the folder of programs, {b} the
# folder of the row; `build` is for a shell, `run` is words.
import array
import json
import re
import subprocess
import typing


class Row(typing.NamedTuple):
    name: str
    packages: str  # the first has the version
    build: str = ""
    run: str = "{b}/prog"
    tier: str = "zoo"  # "core" is for every change, "all" for releases
    env: dict = {}
    options: str = ""  # of flamerun
    status: int = 0
    same_output: bool = True
    own: float = .95  # least share of samples below heavy() and light(); 0: they are not to be told
    instead: str = ""  # what is reached where these are not
    depth: int = 51  # frames of deep() in each of them; 0: not known
    named: float = .98  # least share of samples whose innermost function has a name
    incomplete: float = .01  # greatest share of stacks without their start
    says: tuple = ()  # expressions for what flamerun says
    also: typing.Callable = None  # also(bare, run) -> a list of what is wrong besides


def same_profile(read_s):
    """The program's own profile has as much of its CPU time, by @read_s, as when it runs bare."""
    def check(bare, run):
        shares = read_s(bare) / bare.own_s, read_s(run) / run.waited_s
        return [] if abs(shares[1] - shares[0]) < .15 else ["its own profile has {1:.0%}, bare {0:.0%}".format(*shares)]
    return check


def gprof_s(run):
    """Seconds in all functions by gmon.out, which programs built with -pg write."""
    table = subprocess.run(["gprof", "-b", "-p", run.folder.parent / "prog", run.folder / "gmon.out"],
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    return max((float(line.split()[1]) for line in table.splitlines() if re.match(r" *\d", line)), default=0)


def gperftools_s(run):
    """Records of gperftools' profile are a count of ticks of 10 ms, a depth and addresses; a count of 0 ends."""
    data = (run.folder / "cpu.prof").read_bytes()
    words, at, ticks = array.array("Q", data[:len(data) // 8 * 8]), 5, 0
    while words[at]:
        ticks, at = ticks + words[at], at + 2 + words[at + 1]
    return ticks / 100


def go_s(run):
    text = subprocess.run(["go", "tool", "pprof", "-top", run.folder / "cpu.prof"], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return float(re.search(r"Total samples = ([\d.]+)s", text).group(1))


def node_s(run):
    profile, = (json.loads(path.read_text()) for path in run.folder.glob("*.cpuprofile"))
    spins = {node["id"] for node in profile["nodes"] if node["callFrame"]["functionName"] == "spin"}
    return sum(delta for sample, delta in zip(profile["samples"], profile["timeDeltas"]) if sample in spins) / 1e6


CORE = {"tier": "core"}
OUTSIDE = {"says": ("it is sampled from outside",)}
C = "gcc -O2 {p}/split.c -o prog "
OCAML = "cp {p}/ocaml*.ml . && ocamlopt -I +threads unix.cmxa threads.cmxa ocaml.ml "
PROFILER = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
# Their own functions have no symbols, as Debian strips them.
STRIPPED = {"named": .3}

ROWS = (
    # Compiled languages.
    Row("c", "gcc", C, **CORE),
    Row("c++", "g++", "g++ -std=c++20 -O2 {p}/split.cc -o prog", **CORE),
    Row("rust", "rustc", "rustc -O {p}/rust.rs -o prog", **CORE),
    Row("rust-threads", "rustc", "rustc -O {p}/rust.rs -o prog", "{b}/prog threads", **CORE),
    Row("go", "golang-go", "go build -o prog {p}/split.go", **OUTSIDE, **CORE),
    Row("ocaml", "ocaml-nox", OCAML + "ocaml_main.ml -o prog", **CORE),
    Row("ocaml-threads", "ocaml-nox", OCAML + "ocaml_threads.ml -o prog", **CORE),

    # Virtual machines and interpreters.
    Row("erlang", "erlang-base", "erlc {p}/zoo.erl", "erl +JPperf true -noinput -pa {b} -s zoo main", own=.85, **CORE),
    Row("ruby", "ruby3.1", run="ruby3.1 {p}/ruby.rb", own=.9, **STRIPPED, **CORE),
    Row("python", "python3", run="/usr/bin/python3 {p}/python.py", **STRIPPED, **CORE),
    Row("php", "php8.2-cli", run="php8.2 {p}/php.php", **STRIPPED, **CORE),
    Row("java", "openjdk-17-jdk-headless", "javac -d . {p}/Zoo.java", "java -cp {b} Zoo", own=.85, **CORE),

    # Stacks and code of other shapes.
    Row("ucontext", "gcc", "gcc -O2 {p}/coroutine.c -o prog", **CORE),
    Row("boost.context", "libboost-context-dev", "g++ -O2 {p}/boost.cc -o prog -lboost_context", **CORE),
    Row("c++20-coroutines", "g++", "g++ -std=c++20 -O2 {p}/coroutine.cc -o prog", **CORE),

    # Libraries and programs that do the same or stand in the way.
    Row("gprof", "gcc binutils", C + "-pg", also=same_profile(gprof_s), **CORE),
    Row("libprofiler", "libgoogle-perftools-dev", C + "-Wl,--no-as-needed -lprofiler", env={"CPUPROFILE": "cpu.prof"},
        also=same_profile(gperftools_s), **CORE),
    Row("libprofiler-preload", "libgoogle-perftools4", C,
        "env CPUPROFILE=cpu.prof LD_PRELOAD=" + PROFILER + " {b}/prog", also=same_profile(gperftools_s), **CORE),
    Row("jemalloc", "libjemalloc2", "gcc -O2 {p}/allocate.c -o prog -l:libjemalloc.so.2", **STRIPPED, **CORE),
)

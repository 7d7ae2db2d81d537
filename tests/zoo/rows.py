# SPDX-License-Identifier: MIT
#
# The rows of the zoo (zoo.py), one for each program. In commands, {p} is the folder programs/ and
# {b} the folder of the row. `build` is run by a shell; `run` is split into words.
import array
import json
import re
import subprocess
import typing


class Row(typing.NamedTuple):
    name: str
    packages: str  # Debian packages; the table shows the version of the first
    build: str = ""
    run: str = "{b}/prog"
    tier: str = "zoo"  # "core": tested for each change; "all": for releases only
    env: dict = {}
    options: str = ""  # of flamerun
    status: int = 0
    same_output: bool = True
    sampled: float = .9  # minimum share of the CPU time that has samples
    own: float = .95  # minimum share of samples below heavy() and light(); 0: not checked
    instead: str = ""  # text of the table's cell if `own` is 0: what the stacks show
    whole: float = .98  # minimum share of samples in spin() that have all callers
    deep: str = "deep"  # expression for their recursive callers, of which each stack has 51
    named: float = .98  # minimum share of samples whose innermost function has a name
    incomplete: float = .01  # maximum share of incomplete stacks
    says: tuple = ()  # expressions that must match flamerun's messages
    also: typing.Callable = None  # also(bare, run) -> list of further problems


def same_profile(share):
    """
    Check that the program's own profile shows about the same @share of its time under flamerun as
    without it.
    """
    def check(bare, run):
        shares = share(bare), share(run)
        return [] if .7 < shares[1] / shares[0] < 1.4 else ["its own profile has {1:.0%}, bare {0:.0%}".format(*shares)]
    return check


def gprof(run):
    """The share of the CPU time, from gmon.out, which programs built with -pg write."""
    table = subprocess.run(["gprof", "-b", "-p", run.folder.parent / "prog", run.folder / "gmon.out"],
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    seconds = [float(line.split()[1]) for line in table.splitlines() if re.match(r" *\d", line)]
    return max(seconds, default=0) / run.program_s


def gperftools(run):
    """
    The share of the CPU time. A record is a number of ticks of 10 ms, a depth and addresses; a
    number of 0 ends the file.
    """
    data = (run.folder / "cpu.prof").read_bytes()
    words, at, ticks = array.array("Q", data[:len(data) // 8 * 8]), 5, 0
    while words[at]:
        ticks, at = ticks + words[at], at + 2 + words[at + 1]
    return ticks / 100 / run.program_s


def go(run):
    """Of the CPU time."""
    text = subprocess.run(["go", "tool", "pprof", "-top", run.folder / "cpu.prof"], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    number, unit = re.search(r"Total samples = ([\d.]+)(m?s)", text).groups()
    return float(number) / (1000 if unit == "ms" else 1) / run.program_s


def node(run):
    """The share of spin() in all samples, whose times are elapsed times."""
    profile, = (json.loads(path.read_text()) for path in run.folder.glob("*.cpuprofile"))
    spins = {node["id"] for node in profile["nodes"] if node["callFrame"]["functionName"] == "spin"}
    return sum(sample in spins for sample in profile["samples"]) / len(profile["samples"])


CORE = {"tier": "core"}
OUTSIDE = {"says": ("it is sampled from outside",)}
# The interpreter is stripped, so many native functions have no name.
STRIPPED = {"named": .3}
# flamerun has no reader for the language, so only the interpreter's native functions are visible.
C_ALONE = {"own": 0, "instead": "the interpreter's C", "named": .05}
# The runtime generates code and publishes no names for it.
UNNAMED = {"own": 0, "instead": "[unknown code]", "named": 0, "says": ("a runtime that writes /tmp/perf-PID.map names",)}


def no_switch(name):
    """As UNNAMED, for a runtime that has no option to publish names of its code."""
    return {**UNNAMED, "says": (f"{name} has no switch that names",)}


PROGRAM = {"tier": "all", "own": 0, "instead": "", "named": .3}
C = "gcc -O2 {p}/split.c -o prog "
CXX = "g++ -std=c++20 -O2 -o prog "
OCAML = "cp {p}/ocaml*.ml . && ocamlopt -I +threads unix.cmxa threads.cmxa ocaml.ml "
PROFILER = "env CPUPROFILE=cpu.prof LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libprofiler.so.0 {b}/prog"
SCHEME = "(cat {p}/split.scm; echo '(turns %d)') >prog.scm"

ROWS = (
    # Compiled languages.
    Row("c", "gcc", C, **CORE),
    Row("c-clang", "clang", "clang -O2 {p}/split.c -o prog", "{b}/prog 3000"),
    Row("c-tcc", "tcc", "tcc -g {p}/split.c -o prog"),
    Row("c++", "g++", CXX + "{p}/split.cc", **CORE),
    Row("rust", "rustc", "rustc -O {p}/rust.rs -o prog", **CORE),
    Row("rust-threads", "rustc", "rustc -O {p}/rust.rs -o prog", "{b}/prog threads", **CORE),
    Row("rust-tasks", "rustc", "rustc --edition=2021 -O {p}/tasks.rs -o prog", deep="genfuture|deep::.*closure"),
    Row("go", "golang-go", "go build -o prog {p}/split.go", **OUTSIDE, **CORE),
    Row("go-pie", "golang-go", "go build -buildmode=pie -o prog {p}/split.go", **OUTSIDE),
    Row("go-cgo", "golang-go gcc", "sed 's/^import (/import \"C\"\\n&/' {p}/split.go >cgo.go && CGO_ENABLED=1 go build -o prog cgo.go",
        incomplete=.03),  # stacks of the thread that runs runtime.sysmon
    Row("go-pprof", "golang-go", "go build -o prog {p}/split.go", "{b}/prog cpu.prof", also=same_profile(go), **OUTSIDE),
    Row("gccgo", "gccgo", "gccgo -O2 {p}/split.go -o prog", own=.8),
    Row("ocaml", "ocaml", OCAML + "ocaml_main.ml -o prog", **CORE),
    Row("ocaml-threads", "ocaml", OCAML + "ocaml_threads.ml -o prog", **CORE),
    Row("haskell", "ghc", "ghc -O -outputdir . {p}/split.hs -o prog"),
    Row("d-ldc", "ldc", "ldc2 -O2 {p}/split.d -of=prog"),
    Row("d-gdc", "gdc", "gdc -O2 {p}/split.d -o prog"),
    Row("ada", "gnat", "gnatmake -O2 {p}/split.adb -o prog", deep=r"^split\.deep$"),
    Row("fortran-openmp", "gfortran", "gfortran -O2 -fno-inline -fno-ipa-cp -fopenmp {p}/split.f90 -o prog", env={"OMP_WAIT_POLICY": "passive"}),
    Row("pascal", "fpc", "fpc -O2 -g -FE. -oprog {p}/split.pas"),
    Row("nim", "nim", "nim c -d:release --nimcache:. -o:prog {p}/split.nim", deep=r"^split\.deep$"),
    Row("crystal", "crystal", "crystal build --release {p}/split.cr -o prog"),

    # Virtual machines and interpreters.
    # The scheduler's loop has no frame pointer.
    Row("erlang", "erlang-base", "erlc {p}/zoo.erl", "erl +JPperf true -noinput -pa {b} -s zoo main", own=.7,
        named=.9, incomplete=.1, **CORE),
    Row("elixir", "elixir", run="elixir --erl '+JPperf true' {p}/split.exs", own=.6, named=.9, incomplete=.1),
    Row("ruby", "ruby", run="ruby {p}/ruby.rb", own=.9, **STRIPPED, **CORE),
    Row("ruby-yjit", "ruby", run="ruby --yjit {p}/ruby.rb 90000", own=.7, **STRIPPED),
    Row("ruby-kill", "ruby", run="ruby {p}/ruby_kill.rb", own=.9, **STRIPPED),
    Row("python", "python3", run="/usr/bin/python3 {p}/python.py", **STRIPPED, **CORE),
    Row("pypy", "pypy3", run="pypy3 {p}/python.py 600000", incomplete=1, **no_switch("PyPy")),
    Row("php", "php-cli", run="php {p}/php.php", **STRIPPED, **CORE),
    Row("perl", "perl", run="perl {p}/perl.pl", **STRIPPED),
    Row("lua", "lua5.4", run="lua5.4 {p}/split.lua 50000", **STRIPPED),
    Row("luajit", "luajit", run="luajit {p}/split.lua 500000", **STRIPPED),
    Row("node", "nodejs", run="node {p}/node.js", own=.9),
    Row("node-cpu-prof", "nodejs", run="node --cpu-prof {p}/node.js", own=.8, also=same_profile(node)),
    Row("java", "default-jdk-headless", "javac -d . {p}/Zoo.java", "java -cp {b} Zoo", own=.85, **CORE),
    Row("java-interpreted", "default-jdk-headless", "javac -d . {p}/Zoo.java", "java -Xint -cp {b} Zoo 100", own=.9),
    # Mono's code has no frame pointer and no call-frame information. If the return address is not
    # behind a call, the callers up to the next C function are missing.
    Row("mono", "mono-mcs mono-runtime", "mcs -out:prog.exe {p}/split.cs", "mono --jitmap {b}/prog.exe", whole=.25),
    Row("mono-no-jitmap", "mono-mcs mono-runtime", "mcs -out:prog.exe {p}/split.cs", "mono {b}/prog.exe",
        **{**UNNAMED, "says": ("mono --jitmap names",)}),
    Row("prolog", "swi-prolog-nox", run="swipl {p}/split.pl", **C_ALONE),
    Row("sbcl", "sbcl", run="sbcl --noinform --load {p}/split.lisp --eval '(print (turns 1000000))' --quit", **no_switch("SBCL")),
    Row("guile", "guile-3.0", SCHEME % 100000, "guile {b}/prog.scm", incomplete=1, **no_switch("Guile")),
    Row("racket", "racket", "(echo '#lang racket/base'; cat {p}/split.scm; echo '(turns 300000)') >prog.rkt && raco make prog.rkt",
        "racket {b}/prog.rkt", incomplete=1, **no_switch("Racket")),
    Row("r", "r-base-core", run="Rscript {p}/split.R", **C_ALONE),
    Row("octave", "octave", run="octave-cli -q --no-init-file {p}/split.m", **C_ALONE),
    Row("tcl", "tcl8.6", run="tclsh8.6 {p}/split.tcl", **C_ALONE),
    Row("gawk", "gawk", run="gawk -f {p}/split.awk", **C_ALONE),
    Row("mawk", "mawk", run="mawk -f {p}/split.awk", **C_ALONE),
    Row("bash", "bash", run="bash {p}/split.sh 3000", **C_ALONE),
    Row("dash", "dash", run="dash {p}/split.sh 6000", **C_ALONE),
    Row("zsh", "zsh", run="zsh -f {p}/split.sh 3000", **C_ALONE),

    # Unusual stacks and code.
    Row("ucontext", "gcc", "gcc -O2 {p}/coroutine.c -o prog", **CORE),
    Row("boost.context", "libboost-context-dev", CXX + "{p}/boost.cc -lboost_context", **CORE),
    Row("c++20-coroutines", "g++", CXX + "{p}/coroutine.cc", **CORE),
    Row("static", "gcc", C + "-static", **OUTSIDE),
    Row("static-pie", "gcc", C + "-static-pie", **OUTSIDE),
    Row("musl", "musl-tools", "musl-gcc -O2 {p}/split.c -o prog", **OUTSIDE),
    Row("longjmp", "gcc", "gcc -O2 {p}/longjmp.c -o prog"),
    Row("no-frames", "gcc", C + "-fno-asynchronous-unwind-tables -fno-omit-frame-pointer"),

    # Other profilers, allocators, sanitizers, tracers and containers.
    Row("gprof", "gcc binutils", C + "-pg", also=same_profile(gprof), **CORE),
    Row("libprofiler", "libgoogle-perftools-dev", C + "-Wl,--no-as-needed -lprofiler", env={"CPUPROFILE": "cpu.prof"},
        also=same_profile(gperftools), **CORE),
    Row("libprofiler-preload", "libgoogle-perftools-dev", C, PROFILER, also=same_profile(gperftools), **CORE),
    Row("jemalloc", "libjemalloc2", "gcc -O2 {p}/allocate.c -o prog -l:libjemalloc.so.2", **STRIPPED, **CORE),
    Row("tcmalloc", "libgoogle-perftools-dev", "gcc -O2 {p}/allocate.c -o prog -l:libtcmalloc_minimal.so.4", **STRIPPED),
    Row("mimalloc", "libmimalloc-dev", "gcc -O2 {p}/allocate.c -o prog -lmimalloc", **STRIPPED),
    Row("asan", "gcc", C + "-fsanitize=address", env={"ASAN_OPTIONS": "verify_asan_link_order=0"}),
    Row("asan-clang", "clang libclang-rt-dev", "clang -O2 -fsanitize=address {p}/split.c -o prog", "{b}/prog 3000"),
    Row("ubsan", "gcc", C + "-fsanitize=undefined"),
    Row("tsan", "gcc", C + "-fsanitize=thread"),
    Row("io_uring", "liburing-dev", "gcc -O2 {p}/iouring.c -o prog -luring", own=.85),
    Row("gdb", "gdb", C, "sh -c 'gdb -batch -nx -ex run {b}/prog | grep -v Inferior'", own=.6, named=.7),
    Row("strace", "strace", C, "strace -f -o trace {b}/prog", own=.8),
    Row("valgrind", "valgrind", C, "valgrind --tool=none -q {b}/prog 200", own=.4, named=.6),
    Row("qemu", "qemu-user", C, "qemu-x86_64 {b}/prog 100", **UNNAMED),
    Row("bubblewrap", "bubblewrap", C, "bwrap --bind / / --dev /dev --unshare-all {b}/prog"),
    Row("pid-namespace", "gcc util-linux", C, "unshare --pid --fork --mount-proc {b}/prog"),

    # Real programs, whose true shares are not known.
    Row("gcc", "g++", run="g++ -std=c++20 -O3 -c {p}/boost.cc", **PROGRAM),
    Row("rustc", "rustc", run="rustc --edition=2021 -C opt-level=3 {p}/tasks.rs", **PROGRAM),
    # Go's garbage collector runs on stacks of its own, in its own threads.
    Row("go-build", "golang-go", run="go build -a -o prog strings", incomplete=.05, **PROGRAM),
    Row("javac", "default-jdk-headless", run="javac -d . {p}/Zoo.java", **PROGRAM),
    Row("tsc", "node-typescript", run="tsc --noEmit --lib es2020,dom --allowJs --checkJs {p}/node.js", **PROGRAM),
    Row("pandoc", "pandoc", run="pandoc -s -o out.html {root}/README.md {root}/share/recipes.md {root}/CHANGELOG.md", incomplete=.1,
        **PROGRAM),
    # There are a dozen threads of 0.1 s each, and the last period of a thread has no sample.
    Row("ffmpeg", "ffmpeg", sampled=.8, run="ffmpeg -v error -f lavfi -i testsrc=duration=6:size=640x360 -c:v libx264 -f null -",
        incomplete=.05, **{**PROGRAM, "named": .05}),
    Row("postgres", "postgresql", run="sh {p}/postgres.sh", sampled=.7, **PROGRAM),
    Row("nginx", "nginx-light apache2-utils", run="sh {p}/nginx.sh {root}", **PROGRAM),
    # The program prints the path of its output, which differs.
    Row("libreoffice", "libreoffice-writer", run="soffice --headless --convert-to pdf {root}/README.md",
        **{**PROGRAM, "same_output": False}),
    Row("blender", "blender", run="blender -b --python-expr 'import bpy; bpy.context.scene.render.engine = \"CYCLES\"; "
        "bpy.context.scene.cycles.samples = 16; bpy.context.scene.cycles.use_denoising = False; "
        "bpy.ops.render.render()'", **{**PROGRAM, "same_output": False, "named": .05}),
)

# SPDX-License-Identifier: MIT
#
# Symbols from debuginfod servers: a server that has them, one that has others, one that is down,
# and one that never answers.
import ctypes
import http.server
import os
import shutil
import signal
import socket
import subprocess
import threading
import urllib.request

import pytest

from pprof import Maker, layout_of
from profiled import BUILD, PLAIN, compile_target, profile


def has_client():
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not has_client(), reason="libdebuginfod1 is not installed")


def build_id(program):
    text = subprocess.run(["readelf", "-n", program], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return text.split("Build ID:")[1].split()[0]


@pytest.fixture
def files(tmp_path):
    """(stripped program, its debug file)"""
    program = compile_target("split.c", tmp_path, (*PLAIN, "-Wl,--build-id=sha1"))
    debug = tmp_path / "served.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    return program, debug


class Server(http.server.ThreadingHTTPServer):
    """A server that answers requests for @content (build-id in hex -> bytes), or never answers."""
    daemon_threads = True

    def __init__(self, content, waits=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.waits = waits
        self.asked = []
        self.was_asked = threading.Event()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        part = self.path.strip("/").split("/")
        self.server.asked.append(self.path)
        self.server.was_asked.set()
        if self.server.waits:
            self.server.is_over.wait(300)
            return
        body = self.server.content.get(part[1]) if part[2:] == ["debuginfo"] else None
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


def environment(tmp_path, url, **more):
    return {**os.environ, "DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
            "no_proxy": "*", **more}


def run(tmp_path, program, url, options=("-v",), **more):
    return profile(tmp_path, program, "400", options=options, env=environment(tmp_path, url, **more))


def is_named(result):
    return result.folded.below("heavy") > 0


def test_symbols_come_and_stay(tmp_path, files):
    program, debug = files
    with Server({build_id(program): debug.read_bytes()}) as server:
        result = run(tmp_path, program, server.url)
    assert result.status == 0 and is_named(result), result.stderr
    assert "symbols of 1 file came" in result.stderr
    assert f"% named: by debuginfod, {tmp_path}/cache/{build_id(program)}/debuginfo" in result.stderr
    # The file in the cache must be used, because this server does not exist.
    result = run(tmp_path, program, "http://127.0.0.1:9")
    assert is_named(result) and "did not come" not in result.stderr


def test_nobody_is_asked_for_what_is_here(tmp_path, files):
    program, _ = files
    whole = compile_target("recursion.c", tmp_path, (*PLAIN, "-g", "-Wl,--build-id=sha1"))
    with Server({}) as server:
        profile(tmp_path, whole, "200", env=environment(tmp_path, server.url))
        assert not any(build_id(whole) in path for path in server.asked)
        result = run(tmp_path, program, server.url, options=("-v", "--no-debuginfod"))
        assert not any(build_id(program) in path for path in server.asked)
        assert not is_named(result)
        result = run(tmp_path, program, server.url)
        assert any(build_id(program) in path for path in server.asked)
    assert "no server has those of" in result.stderr


def test_lines_come_for_what_has_names_alone(tmp_path):
    program = compile_target("split.c", tmp_path, (*PLAIN, "-g", "-Wl,--build-id=sha1"))
    debug = tmp_path / "served.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", "-g", program], check=True)
    out = tmp_path / "lines.folded"
    with Server({build_id(program): debug.read_bytes()}) as server:
        for url, has_lines in (("", False), (server.url, True)):
            subprocess.run([BUILD / "flamerun", "-q", "--by", "line", "-o", out, "--", program,
                            "400"], check=True, stdout=subprocess.DEVNULL,
                           env=environment(tmp_path, url))
            text = out.read_text()
            assert "heavy" in text and ("split.c:" in text) == has_lines, text


@pytest.mark.parametrize("is_here", [True, False], ids=["stripped", "gone"])
def test_a_stored_profiles_addresses(tmp_path, files, is_here):
    program, debug = files
    offset, address, size, symbol, ident = layout_of(program, "heavy", debug)
    maker = Maker(("samples", "count"))
    maker.mapping(1, 0x7F0000000000, 0x7F0000000000 + size, offset & ~0xFFF, program, ident)
    maker.address(1, 1, symbol - (address & ~0xFFF) + 0x7F0000000000 + 1)
    maker.function(2, "main")
    maker.sample([1, 2], 7)
    maker.write(tmp_path / "in.pb")
    if not is_here:
        program.unlink()

    def render(url, *words):
        result = subprocess.run([BUILD / "flamerun", "render", "-v", "in.pb", "-o", "out.folded",
                                 *words], check=True, stderr=subprocess.PIPE, text=True,
                                cwd=tmp_path, env=environment(tmp_path, url))
        return (tmp_path / "out.folded").read_text(), result.stderr

    with Server({ident: debug.read_bytes()}) as server:
        assert render(server.url, "--no-debuginfod")[0].startswith("main;[split+0x")
        assert not server.asked
        folded, said = render(server.url)
    assert folded == "main;heavy 7\n" and "symbols of 1 file came" in said
    with Server({ident: debug.read_bytes()}) as server:
        assert render(server.url)[0] == folded and not server.asked  # the file is cached


def test_a_stored_profiles_names_are_its_own(tmp_path):
    maker = Maker(("samples", "count"))
    maker.mapping(1, 0x1000, 0x2000, 0, "/nowhere/program", "12" * 20)
    maker.function(1, "main")
    maker.sample([1], 7)
    maker.write(tmp_path / "in.pb")
    with Server({}) as server:
        subprocess.run([BUILD / "flamerun", "render", "in.pb", "-o", "out.folded", "--debuginfod"],
                       check=True, cwd=tmp_path, env=environment(tmp_path, server.url))
        assert not server.asked


INLINED = """
#include <stdlib.h>
#include <time.h>
static inline __attribute__((always_inline)) unsigned shared_part(unsigned x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}
__attribute__((noinline)) unsigned whole(unsigned x) { return shared_part(x) + 1; }
int main(int count, char **words)
{
	volatile unsigned x = 1;

	while (clock() < CLOCKS_PER_SEC / 1000 * atoi(words[count - 1]))
		for (int i = 0; i < 2000; i++) /* some ms: see spin_until() in spin.h */
			x = whole(x);
	return 0;
}
"""


def test_what_dwz_took_out_comes_too(tmp_path):
    if not shutil.which("dwz"):
        pytest.skip("dwz is not installed")
    (tmp_path / "inlined.c").write_text(INLINED)
    for name in "one", "two":
        subprocess.run(["gcc", "-O2", "-gdwarf-4", "-Wl,--build-id=sha1", f"-DNAME={name}", "-o",
                        name, "inlined.c"], check=True, cwd=tmp_path)
        subprocess.run(["objcopy", "--only-keep-debug", name, f"{name}.debug"], check=True,
                       cwd=tmp_path)
    subprocess.run(["dwz", "-m", "shared", "one.debug", "two.debug"], check=True, cwd=tmp_path)
    program, shared = tmp_path / "one", tmp_path / "shared"
    subprocess.run(["strip", program], check=True)
    content = {build_id(program): (tmp_path / "one.debug").read_bytes()}
    parts = {build_id(shared): shared.read_bytes()}
    for file in "one.debug", "two.debug", "shared":
        (tmp_path / file).unlink()
    for has_parts in False, True:
        with Server({**content, **(parts if has_parts else {})}) as server:
            result = run(tmp_path, program, server.url)
        assert result.folded.below("whole"), result.stderr
        assert (result.folded.below("shared_part") > 0) == has_parts, result.folded.describe()
        assert f"symbols of {'2 files' if has_parts else '1 file'} came" in result.stderr
        shutil.rmtree(tmp_path / "cache")


def test_another_files_symbols(tmp_path, files):
    program, _ = files
    other = compile_target("recursion.c", tmp_path, (*PLAIN, "-Wl,--build-id=sha1"))
    with Server({build_id(program): other.read_bytes()}) as server:
        result = run(tmp_path, program, server.url)
    assert result.status == 0
    names = {frame for stack, _ in result.folded.stacks for frame in stack}
    assert not is_named(result) and not {"main", "descend"} & names, result.folded.describe()


def test_a_server_that_is_down(tmp_path, files):
    program, _ = files
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        result = run(tmp_path, program, f"http://127.0.0.1:{closed.getsockname()[1]}", options=())
    assert result.status == 0 and not is_named(result)
    assert "did not come: Connection refused" in result.stderr, result.stderr
    assert "hint: --no-debuginfod" in result.stderr


def test_a_server_that_never_answers(tmp_path, files):
    program, _ = files
    with Server({}, waits=True) as server:
        result = run(tmp_path, program, server.url, options=(), DEBUGINFOD_MAXTIME="1")
    assert result.status == 0 and not is_named(result)
    assert "did not come in 1 s" in result.stderr, result.stderr
    # An incomplete file is removed.
    assert not list((tmp_path / "cache").glob("*/debuginfo*"))


def test_ctrl_c_goes_on_without(tmp_path, files):
    program, _ = files
    out = tmp_path / "hurried.folded"
    with Server({}, waits=True) as server:
        flamerun = subprocess.Popen([BUILD / "flamerun", "-o", out, "--", program, "400"], text=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    env=environment(tmp_path, server.url))
        assert server.was_asked.wait(120)
        flamerun.send_signal(signal.SIGINT)
        _, text = flamerun.communicate(timeout=120)
    assert flamerun.returncode == 0, text
    assert "are left out" in text and out.exists(), text


def test_a_real_server(tmp_path, files):
    if not shutil.which("debuginfod"):
        pytest.skip("debuginfod is not installed")
    program, debug = files
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = tmp_path / "served"
    served.mkdir()
    debug.rename(served / "split.debug")
    server = subprocess.Popen(["debuginfod", "-F", "-d", tmp_path / "index.sqlite", "-p", str(port),
                               "-t", "1", served], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**os.environ, "DEBUGINFOD_URLS": ""})
    url = f"http://127.0.0.1:{port}"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        has_it = threading.Event()
        for _ in range(600):
            try:
                with direct.open(f"{url}/buildid/{build_id(program)}/debuginfo"):
                    has_it.set()
                    break
            except OSError:
                assert server.poll() is None
                has_it.wait(0.1)
        assert has_it.is_set(), "it never found the file"
        result = run(tmp_path, program, url)
    finally:
        server.terminate()
        server.wait()
    assert is_named(result), result.stderr

# SPDX-License-Identifier: MIT
#
# Programs of Mozilla and Datadog that read flamerun's formats show the same self and total weight
# of each function as the folded stacks of the same run.
import collections
import contextlib
import json
import os
import subprocess
import time

import pytest

import nodes
from profiled import BUILD, compile_target, profile

MODULES = BUILD / "node_modules"
PROGRAM = """
#include <pthread.h>
#include "tests/targets/spin.h"

static __attribute__((noinline)) void leaf(int ms) { spin(40 * (unsigned)ms); KEEP_FRAME(); }
static __attribute__((noinline)) void often(int n) { for (; n; n--) leaf(40); KEEP_FRAME(); }
static __attribute__((noinline)) void deep(int n) { n ? deep(n - 1) : leaf(300); KEEP_FRAME(); }
static void *works(void *n) { often(*(int *)n); return n; }

int main(void)
{
	pthread_t threads[3];
	int turns[3] = {2, 5, 9};

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, works, &turns[i]);
	deep(7);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	return 0;
}
"""

# The lines of a location begin with the innermost function, as flamerun's reader expects.
READ_PPROF = """
import {Profile} from '%s/pprof-format/dist/esm/index.js';
import {readFileSync} from 'fs';
import {gunzipSync} from 'zlib';
const profile = Profile.decode(gunzipSync(readFileSync(process.argv[2])));
const text = at => profile.stringTable.strings[Number(at)];
const functions = new Map(profile.function.map(one => [Number(one.id), text(one.name)]));
const locations = new Map(profile.location.map(one => [
    Number(one.id), one.line.map(line => functions.get(Number(line.functionId)))]));
const stacks = profile.sample.map(one => [
    one.locationId.flatMap(id => locations.get(Number(id))), Number(one.value[0])]);
console.log(JSON.stringify({type: text(profile.sampleType[0].type), stacks}));
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run in all three formats."""
    folder = tmp_path_factory.mktemp("consumers")
    source = folder / "works.c"
    source.write_text(PROGRAM)
    program = compile_target(source, folder)
    return folder, profile(folder, program, rate_hz=997, options=[
        "--no-waits", "-o", folder / "p.firefox.json", "-o", folder / "p.pb.gz"])


def costs(stacks):
    """{function: [self, total]}"""
    found = collections.defaultdict(lambda: [0, 0])
    for stack, weight in stacks:
        found[stack[-1]][0] += weight
        for name in set(stack):
            found[name][1] += weight
    return dict(found)


@contextlib.contextmanager
def profiler_cli(node, folder):
    """Mozilla's command line for its profiler, with a home folder of its own for its server."""
    program = MODULES / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"
    if not program.exists():
        pytest.skip("no profiler-cli: npm install --prefix build @firefox-devtools/profiler-cli")
    if nodes.version_of(node) < 24:
        pytest.skip("profiler-cli wants node 24: TEST_NODES")

    def call(*words):
        return subprocess.run([node, program, *words], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, check=False,
                              env={**os.environ, "HOME": str(folder)}).stdout
    try:
        yield call
    finally:
        call("stop", "--all")


@pytest.mark.parametrize("node", [nodes.ALL[-1]] if nodes.ALL else [
    pytest.param("", marks=pytest.mark.skip(reason="no node"))], ids=["node"])
def test_firefox_profiler(run, node):
    folder, of = run
    with profiler_cli(node, folder) as call:
        call("load", folder / "p.firefox.json")
        found = collections.defaultdict(lambda: [0, 0])
        # If its server takes too long, the command prints an error instead of JSON.
        for _ in range(40):
            threads = call("thread", "list", "--json")
            if threads.startswith("{"):
                break
            time.sleep(0.5)
        for thread in json.loads(threads)["threads"]:
            said = json.loads(call("thread", "functions", "--thread", thread["threadHandle"], "--limit", "0",
                                   "--include-idle", "--json"))
            for one in said["functions"]:
                found[one["name"]][0] += one["selfSamples"]
                found[one["name"]][1] += one["totalSamples"]
    # The tool counts in milliseconds.
    assert found.keys() == costs(of.folded.stacks).keys()
    for name, (own, total) in costs(of.folded.stacks).items():
        assert found[name] == pytest.approx([1000 * own / 997, 1000 * total / 997]), name


@pytest.mark.skipif(not nodes.ALL, reason="no node")
def test_pprof_format(run):
    folder, of = run
    if not (MODULES / "pprof-format").is_dir():
        pytest.skip("no pprof-format: npm install --prefix build pprof-format")
    script = folder / "read.mjs"
    script.write_text(READ_PPROF % MODULES)
    said = json.loads(subprocess.run([nodes.ALL[0], script, folder / "p.pb.gz"], stdout=subprocess.PIPE,
                                     text=True, timeout=60, check=True).stdout)
    assert said["type"] == "samples"
    assert costs((tuple(reversed(stack)), weight) for stack, weight in said["stacks"]) == \
        costs(of.folded.stacks)

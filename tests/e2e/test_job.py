# SPDX-License-Identifier: MIT
#
# Ranks of a parallel program are gathered in a folder and drawn as one picture. Environment
# variables stand in for the launchers; test_job_real.py uses real ones.
import json
import os
import re
import signal
import subprocess
import time

import pytest

import folded
import outside
import pprof

# Launchers, and the variables that they set: rank, number of ranks, identity of the job.
LAUNCHERS = {
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"),
    "mpich": ("PMI_RANK", "PMI_SIZE", None),
    "slurm": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"),
}


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    """Remove the variables of the launcher that started the tests."""
    for name in list(os.environ):
        if name.startswith(("OMPI_", "PMI", "SLURM")):
            monkeypatch.delenv(name)


@pytest.fixture
def start(flamerun, tmp_path):
    """start(rank, size, *words, launcher, job, node) -> Popen of a rank that runs @words."""
    def call(rank, size, *words, launcher="openmpi", job="1", node="n1", options=()):
        names = LAUNCHERS[launcher]
        own = {names[0]: str(rank), names[1]: str(size), "SLURMD_NODENAME": node}
        if names[2]:
            own[names[2]] = job
        return subprocess.Popen([flamerun, "--job=job", *options, "--", *map(str, words)],
                                cwd=tmp_path, env=os.environ | own, stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)
    return call


def end(processes):
    said = [process.communicate(timeout=60)[1] for process in processes]
    return said


def tables(run, *words):
    result = run("top", "--json", "job", *words)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.sanitized
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_last_one_draws(start, versions, tmp_path, launcher):
    ranks = [start(rank, 6, versions, 4, launcher=launcher, node=f"n{rank // 3}") for rank in range(6)]
    said = end(ranks)
    assert [rank.returncode for rank in ranks] == [0] * 6
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == ["job.svg", "n0.ranks", "n1.ranks"]
    assert sum("6 ranks on 2 nodes" in text for text in said) == 1
    assert sum(text == "" for text in said) == 5


@pytest.mark.sanitized
def test_weights_add_up(start, run, versions, tmp_path):
    end([start(rank, 3, versions, 4 * (rank + 1)) for rank in range(3)])
    for by in ("function", "rank", "node"):
        assert run("merge", "job", "-o", f"{by}.folded", "--by", by).returncode == 0
    whole, ranks, nodes = (folded.Folded((tmp_path / f"{by}.folded").read_text())
                           for by in ("function", "rank", "node"))
    report = tables(run)
    one = report["job"]["ranks"]
    assert whole.total == ranks.total == nodes.total == sum(rank["cpu"] for rank in one) > 40
    for rank in one:
        assert rank["cpu"] == sum(weight for stack, weight in ranks.stacks
                                  if stack[0] == f"rank {rank['rank']} (n1)")
    assert all(stack[0] == "n1 (node)" for stack, _ in nodes.stacks)
    # Check the maximum, minimum and mean of each function's weight over the ranks.
    for function in report["job"]["functions"]:
        of = [sum(weight for stack, weight in ranks.stacks
                  if stack[0] == f"rank {rank} (n1)" and function["name"] in stack) for rank in range(3)]
        assert [function["least"], function["most"]] == [min(of), max(of)]
        assert function["most_rank"] == of.index(max(of))
        assert function["mean"] == pytest.approx(sum(of) / 3, abs=0.001)
        assert function["imbalance"] == pytest.approx(max(of) / (sum(of) / 3) - 1, abs=0.0001)


def test_many_at_once(start, run, tmp_path):
    """All ranks start and end at the same moment. Each must get its entry in the file."""
    end([start(rank, 16, "sh", "-c", "exit $((OMPI_COMM_WORLD_RANK % 2))") for rank in range(16)])
    ranks = tables(run)["job"]["ranks"]
    assert [rank["rank"] for rank in ranks] == list(range(16))
    assert [rank["status"] for rank in ranks] == [rank % 2 for rank in range(16)]
    assert all(rank["has_ended"] for rank in ranks)
    assert sorted(os.listdir(tmp_path / "job")) == ["job.svg", "n1.ranks"]


def test_the_dead_are_told(start, run, versions, tmp_path):
    killed = start(1, 3, "sh", "-c", f"{versions} 4; kill -SEGV $$")
    gone = start(2, 3, "sleep", 60)
    while not (tmp_path / "job" / "n1.ranks").exists() or tables(run)["job"]["ranks"][-1]["rank"] != 2:
        time.sleep(0.02)
    os.killpg(gone.pid, signal.SIGKILL)
    end([killed, gone, start(0, 3, versions, 4)])
    assert not (tmp_path / "job" / "job.svg").exists()
    said = run("merge", "job", "-o", "all.svg").stderr
    assert "rank 1 on n1 was killed by signal 11 (Segmentation fault) after" in said
    assert "rank 2 on n1 was not seen to end" in said
    assert [rank["has_ended"] for rank in tables(run)["job"]["ranks"]] == [True, True, False]
    assert tables(run)["job"]["ranks"][1]["cpu"] > 0


@pytest.mark.sleeps
def test_what_a_rank_has_is_there_while_it_runs(start, run, versions, tmp_path):
    """Each rank writes its profile after ten seconds, so the job can be drawn before it ends."""
    rank = start(0, 2, "sh", "-c", f"{versions} 4; sleep 600")

    def cpu():
        return [one["cpu"] for one in tables(run)["job"]["ranks"]] if (tmp_path / "job" / "n1.ranks").exists() else []

    # The rank is listed from its start, without samples. Sleep first, because polling uses the CPU.
    time.sleep(9)
    outside.wait_until(lambda: any(cpu()))
    assert rank.poll() is None
    [one] = tables(run)["job"]["ranks"]
    assert not one["has_ended"] and one["duration_ns"] >= 9e9
    os.killpg(rank.pid, signal.SIGKILL)
    end([rank])
    assert cpu() == [one["cpu"]]


def test_an_unusual_rank_is_told(start, run, versions):
    """
    One of eight ranks works more than six times as long as the others, which is more than 10 sigma.
    """
    ranks = [start(rank, 8, versions, 40 if rank == 5 else 6) for rank in range(8)]
    end(ranks)
    assert [one["is_unusual"] for one in tables(run)["job"]["ranks"]] == [rank == 5 for rank in range(8)]
    said = run("merge", "job", "-o", "all.svg").stderr
    assert re.search(r"unusual: rank 5 on n1 worked [\d.]+ s outside MPI, and spent 0.00 s inside", said), said


def test_what_one_rank_alone_does_is_told(run, tmp_path):
    """
    A function that only one rank has is small in the sum. It is listed after those with most
    weight.
    """
    names = [b"", *(b"f%d" % i for i in range(12)), b"alone", b"dull", b"calls", b"inside", b"libmpi.so.40"]
    frames = len(names) - 2
    columns = [(8, range(1, frames + 1)), (9, [0] * (frames - 1) + [frames + 1]),
               *((number, [0] * frames) for number in range(10, 13)),
               (13, [*range(1, 14), 1, 15, 16]), (14, [*range(12), 14, 12, 13, 15])]
    ranks = [[100] * 12 + [0, 60 if rank == 6 else 0, 5, 70 if rank == 3 else 0] for rank in range(8)]
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "n1.ranks").write_bytes(pprof.message(
        (1, b"flamerun-ranks 1"), (3, b"n1"), (5, 5000000), (6, 8), (16, 8), (17, 8),
        *((number, list(values)) for number, values in columns), *((7, name) for name in names),
        *((15, pprof.message((1, rank), (2, 1), (7, [1] * frames), (8, weights)))
          for rank, weights in enumerate(ranks))))
    text = run("top", "job").stdout.split("functions with what they call, over ranks\n")[1].split("\n\n")[0]
    assert [line.split()[5:7] for line in text.splitlines()] == \
        [["chance", f"f{i}"] for i in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7)] + [["6", "alone"]]


def test_a_rank_that_never_came(start, run, versions):
    end([start(rank, 3, versions, 4) for rank in range(2)])
    assert "2 ranks on 1 node, 1 of 3 left no trace" in run("merge", "job", "-o", "all.svg").stderr


@pytest.mark.parametrize("launcher", ["openmpi", "mpich"])
def test_another_job_in_its_folder(start, run, versions, launcher):
    """
    Ranks of an earlier job are removed. If jobs have no id, a job is an earlier one if a rank of it
    has ended.
    """
    end([start(rank, 4, versions, 4, launcher=launcher, job="1") for rank in range(4)])
    end([start(rank, 2, versions, 4, launcher=launcher, job="2") for rank in range(2)])
    assert [rank["rank"] for rank in tables(run)["job"]["ranks"]] == [0, 1]


def test_files_of_another_job_are_left_out(start, run, versions):
    end([start(0, 1, versions, 4, job="1", node="old")])
    end([start(0, 1, versions, 4, job="2", node="new")])
    result = run("merge", "job", "-o", "all.svg")
    assert "1 file in 'job' is of another job, and left out" in result.stderr
    assert "1 rank on 1 node:" in result.stderr


def test_a_damaged_file_is_left_out(start, run, versions, tmp_path):
    end([start(rank, 2, versions, 4, node=f"n{rank}") for rank in range(2)])
    path = tmp_path / "job" / "n1.ranks"
    path.write_bytes(path.read_bytes()[:-10])
    result = run("merge", "job", "-o", "all.svg")
    assert result.returncode == 0
    assert "1 file is left out: cannot read 'job/n1.ranks': " in result.stderr
    assert "1 rank on 1 node, 1 of 2 left no trace" in result.stderr


def test_no_launcher(run, versions, tmp_path):
    result = run("--job=job", "--", versions, 4)
    assert result.returncode == 0
    assert result.stderr.splitlines()[0] == \
        "flamerun: --job: neither srun nor mpirun started this: it is the only rank"
    assert (tmp_path / "job" / "job.svg").exists()


def test_the_picture_is_named(start, versions, tmp_path):
    end([start(0, 1, versions, 4, options=["-o", "all.folded"])])
    assert (tmp_path / "all.folded").exists() and not (tmp_path / "job" / "job.svg").exists()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_in_names(run, versions, tmp_path, monkeypatch, launcher):
    monkeypatch.setenv(LAUNCHERS[launcher][0], "17")
    assert run("-o", "run-%r.folded", "--", versions, 4).returncode == 0
    assert (tmp_path / "run-17.folded").exists()


def test_refusals(run, versions, tmp_path):
    assert "--by rank and --by node are for --job" in run("--by", "rank", "--", versions, 4).stderr
    assert "--job is for one run" in run("--job=job", "-n", 2, "--", versions, 4).stderr
    (tmp_path / "empty").mkdir()
    result = run("merge", "empty", "-o", "all.svg")
    assert result.returncode == 125 and "no files of a job's nodes in 'empty'" in result.stderr
    (tmp_path / "file").write_text("")
    result = run("--job=file", "--", "true")
    assert result.returncode == 125 and "Not a directory" in result.stderr

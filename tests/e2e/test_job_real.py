# SPDX-License-Identifier: MIT
#
# Ranks of real parallel programs, in `make check-all`, which installs what starts them: Open MPI's and
# MPICH's mpirun, and srun, on four nodes that tests/setup/slurm.sh makes of one machine.
import json
import os
import shutil
import subprocess

import pytest

import profiled

pytestmark = profiled.of_all

LAUNCHERS = {
    # More ranks than processors: yield to each other. Open MPI's shared memory takes nodes of one
    # machine for one.
    "openmpi": (("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np"), "pmix"),
    "mpich": (("mpirun.mpich", "-np"), "pmi2"),
}
OPENMPI = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "tcp,self",
           "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_btl_base_warn_component_unused": "0"}


@pytest.fixture
def slow_rank(tmp_path):
    def compiled(mpi):
        if not shutil.which(f"mpicc.{mpi}") or not shutil.which(f"mpirun.{mpi}"):
            pytest.skip(f"no {mpi} here")
        return profiled.compile_target("mpi/slow_rank.c", tmp_path, flags=("-O1",), compiler=f"mpicc.{mpi}")
    return compiled


@pytest.fixture
def srun(tmp_path):
    """srun(*words) -> a command that runs on four nodes."""
    script = profiled.ROOT / "tests" / "setup" / "slurm.sh"
    folder = tmp_path / "slurm"
    if os.geteuid() or not all(map(shutil.which, ("slurmctld", "slurmd", "srun", "nsenter"))):
        pytest.skip("needs root, slurmctld, slurmd and slurm-client")
    subprocess.run([script, "up", folder], check=True, timeout=120)
    yield lambda *words: [script, "run", folder, "srun", "--immediate=30", *map(str, words)]
    subprocess.run([script, "down", folder], check=True, timeout=60)


def report_of(run, words, tmp_path, **options):
    result = subprocess.run([*map(str, words)], cwd=tmp_path, env=os.environ | OPENMPI, text=True,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=300, **options)
    report = run("top", "--json", "job")
    assert report.returncode == 0, result.stderr + report.stderr
    return result, json.loads(report.stdout)


def function(report, name):
    return next(row for row in report["job"]["functions"] if row["name"] == name)


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_the_slow_rank_is_told(run, flamerun, tmp_path, slow_rank, mpi):
    """Of four ranks one works twice as long as the others, who wait for it inside MPI."""
    words = LAUNCHERS[mpi][0]
    result, report = report_of(run, [*words, 4, flamerun, "--job=job", slow_rank(mpi), 3, 2], tmp_path)
    assert result.returncode == 0 and "4 ranks, 30 rounds" in result.stdout
    assert "flamerun:   unusual: rank 2 on" in result.stderr
    assert (tmp_path / "job" / "job.svg").exists()
    # 591 samples of 1.5 + 1.5 + 3 + 1.5 s: the most is 1.6 of the mean.
    compute = function(report, "compute")
    assert compute["most_rank"] == 2 and not compute["is_chance"]
    assert compute["imbalance"] == pytest.approx(0.6, abs=5 * compute["most"] ** 0.5 / compute["mean"])
    inside = [rank["cpu_in_mpi"] + rank["waits_in_mpi"] for rank in report["job"]["ranks"]]
    assert inside.index(min(inside)) == 2


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_four_nodes(run, flamerun, tmp_path, slow_rank, srun, mpi):
    words = srun(f"--mpi={LAUNCHERS[mpi][1]}", "-N4", "-n16", flamerun, "--job=job")
    result, report = report_of(run, [*words, slow_rank(mpi), 1, 5], tmp_path)
    assert result.returncode == 0, result.stderr
    assert "flamerun: 16 ranks on 4 nodes" in result.stderr
    assert sorted(os.listdir(tmp_path / "job")) == \
        ["job.svg", "n1.ranks", "n2.ranks", "n3.ranks", "n4.ranks"]
    assert function(report, "compute")["most_rank"] == 5
    assert [rank["rank"] for rank in report["job"]["ranks"]] == list(range(16))


def test_a_rank_dies_in_a_cluster(run, flamerun, tmp_path, slow_rank, srun):
    """One kills itself, the others are ended for that: what all had is there."""
    words = srun("--mpi=pmi2", "--kill-on-bad-exit", "-N4", "-n16", flamerun, "--job=job")
    result, report = report_of(run, [*words, slow_rank("mpich"), 2, -1, 9], tmp_path)
    assert result.returncode != 0
    ranks = report["job"]["ranks"]
    assert len(ranks) == 16 and all(rank["cpu"] for rank in ranks)
    assert [rank["rank"] for rank in ranks if rank["signal"] == 11] == [9]
    said = run("merge", "job", "-o", "all.svg").stderr
    assert "was killed by signal 11 (Segmentation fault)" in said

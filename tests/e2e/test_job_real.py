# SPDX-License-Identifier: MIT
#
# Ranks of real parallel programs. `make check-all` installs the launchers: mpirun of Open MPI and
# MPICH, and srun on four nodes that tests/setup/slurm.sh simulates.
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import profiled

pytestmark = profiled.of_all

LAUNCHERS = {
    # There are more ranks than processors, so let waiting ranks yield. Open MPI's shared memory is
    # off, because it would treat all nodes as one machine.
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
def srun(tmp_path, flamerun):
    """srun(*words) -> a command that runs on four nodes."""
    script = profiled.ROOT / "tests" / "setup" / "slurm.sh"
    folder = tmp_path / "slurm"
    plugin = pathlib.Path(flamerun).parent / "spank_flamerun.so"
    folder.mkdir()
    if plugin.exists():
        (folder / "plugstack.conf").write_text(f"required {plugin} flamerun={flamerun}\n")
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
    """One of four ranks works twice as long as the others, which wait for it inside MPI."""
    words = LAUNCHERS[mpi][0]
    result, report = report_of(run, [*words, 4, flamerun, "--job=job", slow_rank(mpi), 3, 2], tmp_path)
    assert result.returncode == 0 and "4 ranks, 30 rounds" in result.stdout
    assert "flamerun:   unusual: rank 2 on" in result.stderr
    assert (tmp_path / "job" / "job.svg").exists()
    # 591 samples of 1.5 + 1.5 + 3 + 1.5 s: the maximum is 1.6 times the mean.
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
    """One rank kills itself and Slurm ends the others. The profiles of all ranks must be there."""
    words = srun("--mpi=pmi2", "--kill-on-bad-exit", "-N4", "-n16", flamerun, "--job=job")
    result, report = report_of(run, [*words, slow_rank("mpich"), 2, -1, 9], tmp_path)
    assert result.returncode != 0
    ranks = report["job"]["ranks"]
    assert len(ranks) == 16 and all(rank["cpu"] for rank in ranks)
    assert [rank["rank"] for rank in ranks if rank["signal"] == 11] == [9]
    said = run("merge", "job", "-o", "all.svg").stderr
    assert "was killed by signal 11 (Segmentation fault)" in said


def test_the_plugin(run, flamerun, tmp_path, srun):
    """srun --flamerun must not change a task's limits, prolog, signals and status."""
    if not (pathlib.Path(flamerun).parent / "spank_flamerun.so").exists():
        pytest.skip("no plugin: make spank")
    (tmp_path / "prolog.sh").write_text("#!/bin/sh\necho export FROM_PROLOG=yes\n")
    (tmp_path / "task.sh").write_text("""#!/bin/sh
echo "$1 $SLURM_PROCID $(ulimit -n) $(ulimit -s) $FROM_PROLOG $TMPDIR $PWD"
grep -E 'Sig(Blk|Ign)' /proc/self/status
env | grep _SLURM_SPANK
i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done
exit $SLURM_PROCID
""")
    for name in ("prolog.sh", "task.sh"):
        (tmp_path / name).chmod(0o755)

    def step(*options, program=("./task.sh", "two words")):
        words = srun("--task-prolog", tmp_path / "prolog.sh", "-N2", "-n4", *options, *program)
        return subprocess.run(
            ["sh", "-c", 'ulimit -n 777; ulimit -s 4096; exec "$0" "$@"', *map(str, words)],
            cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    plain = step()
    assert plain.returncode == 3 and "two words 2 777 4096 yes" in plain.stdout
    for options in (["--flamerun=job.svg"], ["--flam", "job.svg", "--"]):
        profiled_step = step(*options)
        assert profiled_step.returncode == 3, profiled_step.stderr
        assert sorted(profiled_step.stdout.splitlines()) == sorted(plain.stdout.splitlines())
        assert "flamerun: 4 ranks on 2 nodes" in profiled_step.stderr
        report = json.loads(run("top", "--json", "job.ranks").stdout)
        assert [rank["rank"] for rank in report["job"]["ranks"]] == [0, 1, 2, 3]
        (tmp_path / "job.svg").unlink()
    (tmp_path / "list").write_text("0-3 true\n")
    for options, program, said in (
            (["--multi-prog"], ["list"], "--multi-prog"), (["--bcast=/tmp/x"], ["true"], "--bcast"),
            ([], ["true", ":", "true"], "several programs")):
        refused = step("--flamerun=job.svg", *options, program=program)
        assert refused.returncode == 1 and said in refused.stderr
    assert not (tmp_path / "job.svg").exists()

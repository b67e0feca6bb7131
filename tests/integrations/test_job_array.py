"""The script of the Slurm recipe, each task of the array run as Slurm would run it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest

from nasgoat.integrations import StorageAddress

ROOT = Path(__file__).parents[2]
BASH = "/bin/bash"
OBJECTIVE = """
import os, time

def train(graph):
    if os.path.exists("wait"):
        open("begun", "w").close()
        time.sleep(1000)
    time.sleep(0.3)
    return 1.0 + len(graph.edges)
"""
COMPLETE = (optuna.trial.TrialState.COMPLETE,)


def start(task: int, url: str, study: str, folder: Path) -> subprocess.Popen[bytes]:
    settings = {
        "STUDY": study,
        "OBJECTIVE": "toy:train",
        "EVALUATIONS": "8",
        "HEARTBEAT": "1",
        "NASGOAT_STORAGE": url,
        "SLURM_ARRAY_TASK_ID": str(task),
        "SLURM_CPUS_PER_TASK": "1",
        # As in an environment that is activated: `python` is the one that runs the tests.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{folder}:{ROOT}:{os.environ.get('PYTHONPATH', '')}",
    }
    command = [BASH, str(ROOT / "examples" / "slurm_array.sh")]
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **settings})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy.py").write_text(OBJECTIVE)
    return tmp_path


def read_study(url: str, name: str) -> optuna.Study:
    return optuna.load_study(study_name=name, storage=StorageAddress.of(url).full)


def test_the_tasks_of_an_array_share_a_study_and_a_requeued_one_adds_nothing(
    postgres: str, folder: Path
) -> None:
    tasks = [start(number, postgres, "array", folder) for number in range(2)]
    assert [task.wait(120) for task in tasks] == [0, 0]
    trials = read_study(postgres, "array").get_trials(states=COMPLETE)
    assert 8 <= len(trials) <= 9  # the other task may have been at work on one more
    assert {trial.user_attrs["task"] for trial in trials} == {"0", "1"}
    assert len({tuple(trial.params.items()) for trial in trials}) == len(trials)
    assert start(0, postgres, "array", folder).wait(60) == 0
    assert len(read_study(postgres, "array").get_trials(states=COMPLETE)) == len(trials)


@pytest.mark.slow
def test_what_a_killed_task_was_at_is_evaluated_again(postgres: str, folder: Path) -> None:
    (folder / "wait").touch()
    killed = start(0, postgres, "killed", folder)
    for _ in range(600):
        if (folder / "begun").exists():
            break
        time.sleep(0.1)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    (folder / "wait").unlink()
    time.sleep(3.0)  # its heartbeat has stopped
    assert start(1, postgres, "killed", folder).wait(120) == 0
    study = read_study(postgres, "killed")
    lost = study.trials[0]
    assert lost.state is optuna.trial.TrialState.FAIL
    done = [tuple(trial.params.items()) for trial in study.get_trials(states=COMPLETE)]
    assert done.count(tuple(lost.params.items())) == 1
    assert len(set(done)) == len(done)


def test_without_an_address_the_script_says_what_is_missing(folder: Path) -> None:
    task = subprocess.run(
        [BASH, str(ROOT / "examples" / "slurm_array.sh")],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
    )
    assert task.returncode != 0
    assert "NASGOAT_STORAGE: must be postgresql://" in task.stderr

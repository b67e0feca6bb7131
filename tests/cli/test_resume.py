"""The command line under faults: signals, full disks, passwords, missing packages."""

import contextlib
import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest

from nasgoat import LabeledGraph
from nasgoat.cli import run
from nasgoat.cli.search_output import Painter

SLEEPY = "import time\n\ndef rest(graph):\n    time.sleep(0.5)\n    return 1.0 + len(graph.edges)\n"
SEARCH = ["search", "--no-pictures", "--initial", "4", "--report", "run"]
NASGOAT = [sys.executable, "-c", "from nasgoat.cli import main; main()"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sleepy.py").write_text(SLEEPY)


def call(evaluations: int) -> list[str]:
    objective = ["--space", "nb201", "--objective", "sleepy:rest"]
    return [*SEARCH, *objective, "--evaluations", str(evaluations)]


def start(evaluations: int = 40) -> subprocess.Popen[str]:
    return subprocess.Popen([*NASGOAT, *call(evaluations)], stderr=subprocess.PIPE, text=True)


def trials(state: str) -> int:
    if not Path("run/study.db").exists():
        return 0
    with contextlib.closing(sqlite3.connect("run/study.db", timeout=30)) as connection:
        query = "SELECT count(*) FROM trials WHERE state = ?"
        return int(connection.execute(query, (state,)).fetchone()[0])


def wait_for(state: str, count: int) -> None:
    """Wait until so many trials are in a state."""
    for _ in range(1200):
        if trials(state) >= count:
            return
        time.sleep(0.1)
    pytest.fail("the search did not get going")


def test_the_first_signal_lets_what_runs_finish_and_the_call_resumes() -> None:
    search = start()
    wait_for("COMPLETE", 1)
    search.send_signal(signal.SIGTERM)
    _, said = search.communicate(timeout=120)
    assert search.returncode == 130
    assert "resume with: nasgoat search" in said
    done = trials("COMPLETE")
    assert 1 <= done < 40
    budget = max(done + 2, 4)
    assert run([*call(budget), "--quiet"]) == 0
    assert len(json.loads(Path("run/result.json").read_text())["history"]) == budget


def test_a_disk_that_is_full_when_the_study_is_created_is_exit_code_1() -> None:
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "from nasgoat.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", limited, *call(6)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "nasgoat: the study sqlite:///run/study.db must be usable, got" in done.stderr
    assert "Traceback" not in done.stderr
    assert not Path("run/study.db").exists()


def test_the_second_signal_cancels() -> None:
    Path("sleepy.py").write_text(SLEEPY.replace("0.5", "100"))
    search = start()
    wait_for("RUNNING", 1)
    search.send_signal(signal.SIGINT)
    time.sleep(1)
    search.send_signal(signal.SIGINT)
    _, said = search.communicate(timeout=60)
    assert search.returncode == 130
    assert "resume with" in said


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_the_result_is_written(times: int, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_arguments: object) -> None:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)

    call = [*SEARCH, "--quiet", "--evaluations", "6"]
    with patch("nasgoat.cli.search_output.save", interrupted):
        code = run(call)
    captured = capsys.readouterr()
    assert code == {1: 0, 2: 130}[times]
    assert ("best cell" in captured.out) == (times == 1)
    assert ("resume with: nasgoat search" in captured.err) == (times == 2)
    assert Path("run/result.json").exists() == (times == 1)
    if times == 2:
        assert run(call) == 0
        assert Path("run/result.json").exists()
        assert Path("run/best.png").exists()


def test_pictures_are_not_waited_for_when_asked_to_stop() -> None:
    with patch.object(Painter, "_work", lambda self: time.sleep(30)):
        painter = Painter()
        painter.paint(LabeledGraph.from_edges(2, [(0, 1)]), Path("cell"), "a cell")
    painter.close(30.0, lambda: True)
    assert painter._thread.is_alive()


def test_ctrl_c_inside_scip_ends_the_search() -> None:
    Path("sleepy.py").write_text("def rest(graph):\n    return 1.0 + len(graph.edges)\n")
    objective = ["--space", "nb101", "--objective", "sleepy:rest", "--optimizer", "scip"]
    search = subprocess.Popen(
        [*NASGOAT, *SEARCH, *objective],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal sends Ctrl-C to the whole group, SCIP's process too
    )
    assert search.stderr is not None
    for line in search.stderr:
        if "rows" in line:  # the model is built, SCIP begins
            break
    os.killpg(search.pid, signal.SIGINT)
    _, said = search.communicate(timeout=120)
    assert search.returncode == 130
    assert "interrupted after 4 evaluations" in said
    assert "resume with" in said


def test_a_full_disk_is_one_line_and_the_study_stays_sound() -> None:
    assert run([*SEARCH, "--quiet", "--evaluations", "6"]) == 0
    size = Path("run/study.db").stat().st_size
    script = (
        "import resource; from nasgoat.cli import main\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "main()"
    )
    limited = [sys.executable, "-c", script, *SEARCH, "--quiet", "--evaluations", "60"]
    done = subprocess.run(limited, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "the study must be writable" in done.stderr
    assert "resume with" in done.stderr
    finished = trials("COMPLETE")
    assert finished >= 6
    assert run([*SEARCH, "--quiet", "--evaluations", str(finished + 3)]) == 0
    assert trials("COMPLETE") == finished + 3


def test_a_report_that_fails_does_not_fail_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with patch("nasgoat.cli.search_output.write_whole", side_effect=full):
        assert run([*SEARCH, "--quiet", "--evaluations", "6"]) == 0
    assert "the report could not be written: No space left" in capsys.readouterr().err


def test_a_password_is_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://ann:very-secret@127.0.0.1:9/none"
    code = run([*SEARCH, "--storage", url, "--log-file", "log.txt", "--evaluations", "6"])
    captured = capsys.readouterr()
    assert code == 1
    assert "very-secret" not in captured.out + captured.err + Path("log.txt").read_text()
    assert "ann:***@127.0.0.1" in captured.err


@pytest.mark.parametrize("package", ["distributed", "torch"])
def test_a_missing_package_names_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from nasgoat.errors import MissingPackageError
    from nasgoat.export import to_torch
    from nasgoat.integrations.dask_cluster import connect_dask_workers
    from nasgoat.spaces import nasbench201

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "nasgoat.export.network", raising=False)
    with pytest.raises(MissingPackageError, match=r'pip install "nasgoat\[(dask|neural)\]"'):
        if package == "torch":
            to_torch(nasbench201().from_digits([1, 1, 1, 1, 1, 1]))
        else:
            connect_dask_workers("tcp://127.0.0.1:1")


def test_a_killed_call_resumes_by_itself() -> None:
    search = start()
    wait_for("COMPLETE", 2)
    os.kill(search.pid, signal.SIGKILL)
    search.communicate()
    budget = max(trials("COMPLETE") + 1, 5)
    assert run([*call(budget), "--quiet"]) == 0
    result = json.loads(Path("run/result.json").read_text())
    assert [entry["number"] for entry in result["history"]] == list(range(budget))

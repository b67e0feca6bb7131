"""The command line under bad input: spaces without graphs, hostile names, passwords, full disks."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage

from nasgoat.cli import run
from nasgoat.cli.terminal import make_harmless, move_password, print_json

SEARCH = ["search", "--no-pictures", "--initial", "2", "--report", "run"]
NASGOAT = [sys.executable, "-c", "from nasgoat.cli import main; main()"]
SPACE = '[space]\nkind = "node-labelled"\nnodes = [2, 3]\nops = {ops}\n'
HOSTILE = ["<script>alert(1)</script>", "../../../etc/passwd", "\x1b[2J\x9b31m\u202e", "x" * 10_000]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "within" / "two"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    (folder / "edges.py").write_text("def count(graph):\n    return 1.0 + len(graph.edges)\n")


def declare(ops: list[str], limits: str = "") -> list[str]:
    texts = ", ".join('"' + "".join(f"\\U{ord(c):08x}" for c in op) + '"' for op in ops)
    Path("space.toml").write_text(SPACE.format(ops=f"[{texts}]") + limits)
    return ["--space", "space.toml", "--objective", "edges:count"]


def test_contradictory_limits_are_named_before_any_evaluation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    space = declare(["a"], '\n[limits]\nmany = "edges >= 3"\nflat = "nodes <= 2"\nfew = "a <= 9"\n')
    code = run([*SEARCH, *space[:2], "--command", "touch evaluated"])
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert "many: edges >= 3 and flat: nodes <= 2" in said
    assert not Path("evaluated").exists()
    assert not Path("run").exists()


def test_a_space_that_is_used_up_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, *declare(["a"]), "--evaluations", "500", "--json"]) == 0
    assert '"stop": "exhausted"' in capsys.readouterr().out


def test_a_damaged_space_file_is_one_line_with_its_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    space = declare(["a"])
    Path("space.toml").write_text(Path("space.toml").read_text().replace("nodes", "nodez"))
    assert run([*SEARCH, *space]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "space.toml:3: space.nodez must be one of" in said


@pytest.mark.parametrize("label", HOSTILE)
def test_no_label_reaches_the_terminal_or_becomes_a_path(
    label: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {*Path("../..").rglob("*")}
    space = declare([label, "plain"])
    for command in (["space", "check"], ["space", "sample"], ["space", "describe"]):
        assert run([*command, "space.toml"]) == 0
    assert run([*SEARCH, *space, "--evaluations", "3"]) == 0
    assert run(["status", "run", "--json"]) == 0
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert make_harmless(said) == said
    written = {*Path("../..").rglob("*")} - before
    elsewhere = [path for path in _here(written) if Path("run") not in path.parents]
    assert {path.name for path in elsewhere} <= {*_OWN}
    assert "passwd" not in " ".join(path.name for path in written)


_OWN = ("run", "space.toml", "__pycache__")


def _here(paths: set[Path]) -> list[Path]:
    """Paths below this folder, relative to it; one elsewhere fails the test."""
    found = [path.resolve().relative_to(Path.cwd()) for path in paths]
    return [path for path in found if "__pycache__" not in path.parts]


def test_a_study_is_called_what_it_likes_within_its_folder() -> None:
    space = declare(["a"])
    call = ["search", "--no-pictures", "--quiet", *space, "--evaluations", "2"]
    assert run([*call, "--study", "../../evil <script>"]) == 0
    assert [path.name for path in Path("runs").iterdir()] == ["evil-script"]
    assert not Path("../../evil <script>").exists()


def test_json_holds_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"label": "\x1b[2J\x9b\u202e\x7f"})
    said = capsys.readouterr().out
    assert make_harmless(said) == said
    assert "\\u001b" in said


def test_a_picture_that_fails_does_not_fail_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    Path("run/artifacts").write_text("no folder")
    Path("run/best.png").mkdir()
    call = [*SEARCH, *declare(["a", "b"]), "--evaluations", "3", "--pictures"]
    assert run(call) == 0
    assert "the picture could not be drawn" in capsys.readouterr().err
    assert Path("run/result.json").exists()


def test_a_quiet_search_whose_objective_fails_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["search", "--space", "nb201", "--command", "false", "--no-pictures", "--quiet"]
    assert run(call) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "the command must exit with 0, got 1"
    assert said[1] == "stopped: the objective fails"
    assert said[2].startswith("resume with: nasgoat search --space nb201 --command false")


def test_a_read_only_study_is_one_line_and_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: object) -> None:
        raise StorageInternalError("attempt to write a readonly database")

    call = [*SEARCH, *declare(["a", "b"]), "--evaluations", "4", "--quiet"]
    with patch.object(RDBStorage, "set_trial_state_values", refuse):
        assert run(call) == 1
    said = capsys.readouterr().err
    assert "resume with: nasgoat search" in said
    assert said.splitlines()[-1].startswith("nasgoat: the study must be writable, got")
    assert run(call) == 0


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_a_password_leaves_the_process_list() -> None:
    with socket.socket() as deaf:  # listens and never answers
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"postgresql://ann:very-secret@127.0.0.1:{deaf.getsockname()[1]}/runs"
        call = subprocess.Popen(
            [*NASGOAT, "status", "--storage", url], stderr=subprocess.PIPE, text=True
        )
        try:
            shown = Path(f"/proc/{call.pid}/cmdline")
            for _ in range(600):
                if "ann:***@127.0.0.1" in (text := shown.read_text()):
                    break
                time.sleep(0.05)
            assert "very-secret" not in text
            assert "ann:***@127.0.0.1" in text
        finally:
            call.kill()
            _, said = call.communicate()
    assert "very-secret" not in said


def test_only_the_storage_is_taken_for_an_address_with_a_password() -> None:
    assert move_password(["--command", "fetch http://ann:x@host/"], {}) is None
    assert move_password(["--storage", "study.db"], {}) is None
    found = move_password(
        ["search", "--storage=postgresql://a:b:c/d@h/x", "--seed", "1"], {"A": "1"}
    )
    assert found == (
        ["search", "--storage=postgresql://a:***@h/x", "--seed", "1"],
        {"A": "1", "NASGOAT_STORAGE": "postgresql://a:b:c/d@h/x"},
    )


def test_a_starred_password_is_taken_from_the_environment_or_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["status", "--storage", "postgresql://ann:***@127.0.0.1:9/runs"]
    assert run(call) == 2
    assert "set NASGOAT_STORAGE" in capsys.readouterr().err
    monkeypatch.setenv("NASGOAT_STORAGE", "postgresql://ann:very-secret@127.0.0.1:9/runs")
    assert run(call) == 1
    said = capsys.readouterr().err
    assert "must answer" in said
    assert "very-secret" not in said


def test_a_traceback_of_ours_holds_no_password() -> None:
    script = (
        "import sys; from nasgoat import cli\n"
        "from nasgoat.integrations import StorageAddress\n"
        "def bug(*_):\n"
        "    raise KeyError(StorageAddress.of('postgresql://a:very-secret@h/d').full)\n"
        "cli.run = bug\n"
        "cli.main(['status'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "KeyError" in done.stderr
    assert "very-secret" not in done.stderr
    assert "a:***@h" in done.stderr


def test_an_objective_does_not_see_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("looks.py").write_text(
        "import os\n\ndef look(graph):\n    return float('NASGOAT_STORAGE' in os.environ)\n"
    )
    space = declare(["a", "b"])[:2]
    monkeypatch.setenv("NASGOAT_STORAGE", str(Path("mine.db").absolute()))
    call = ["search", "--quiet", "--no-pictures", "--json", "--evaluations", "2", "--report", "run"]
    with contextlib.redirect_stdout(None):
        assert run([*call, *space, "--objective", "looks:look"]) == 0
    assert '"error": 0.0' in Path("run/result.json").read_text()
    assert os.environ["NASGOAT_STORAGE"]


def test_the_progress_says_what_each_worker_gets(capsys: pytest.CaptureFixture[str]) -> None:
    call = [*SEARCH, *declare(["a"]), "--evaluations", "3"]
    assert run([*call, "--gpus", "0,5", "--threads-per-worker", "2", "--fresh-process"]) == 0
    said = capsys.readouterr().err
    assert "2 on devices 0, 5; 2 threads each; every evaluation has a new process" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--gpus", "0"], "gpus must be at least 1, got 0"),
        (["--gpus", "0,0"], "distinct names like 0,1,2,3, got '0,0'"),
        (["--threads-per-worker", "0"], "threads per worker must be at least 1, got 0"),
        (["--dask-resources", "GPU=1"], "--dask-resources must come with --dask, got none"),
        (["--dask", "tcp://127.0.0.1:1", "--gpus", "1"], "--gpus must be left out with --dask"),
    ],
)
def test_a_wrong_share_is_refused(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SEARCH, *declare(["a"]), "--evaluations", "3", *given]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--gpus", "--timeout", "--memory-limit"])
def test_a_table_takes_no_device_and_no_limits(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SEARCH, option, "1"]) == 2
    assert f"{option} must come with --objective or --command" in capsys.readouterr().err


def test_a_wrong_memory_limit_is_said_in_megabytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, *declare(["a"]), "--memory-limit", "-3"]) == 2
    said = "--memory-limit must be a positive number of megabytes, got -3\n"
    assert said in capsys.readouterr().err

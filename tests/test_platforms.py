"""What needs no Linux runs without what only Linux has; the rest says so in one line."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nasgoat import NodeLabeledSpace, child_process, search
from nasgoat.errors import ChildError, SettingError
from nasgoat.evaluation import Isolated, isolated

ROOT = Path(__file__).parents[1]

ALL_OF_IT = """
import sys
sys.modules["fcntl"] = sys.modules["resource"] = None  # an import of either fails

import nasgoat
import nasgoat.child_worker
from nasgoat.cli import run

space = nasgoat.NodeLabeledSpace((2, 4), ["a", "b"])
result = nasgoat.search(lambda graph: 1.0 + len(graph.edges), space, 8, batch=2, initial=4)
assert len(result.evaluations) == 8
optimizer = nasgoat.Optimizer(space, initial=3)
for proposal in optimizer.ask(3):
    optimizer.tell(proposal.graph, 1.0 + len(proposal.graph.edges))
assert optimizer.ask(1)[0].certificate.certified
search = ["search", "--evaluations", "11", "--report", "run", "--quiet", "--no-pictures"]
assert run(search) == 0
assert run(["solve", "--space", "nb201", "--top", "1"]) == 0
assert run(["report", "run"]) == 0
"""


def test_nothing_but_child_processes_needs_what_windows_lacks(tmp_path: Path) -> None:
    call = [sys.executable, "-c", ALL_OF_IT]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_where_there_are_no_process_groups_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "HAS_GROUPS", False)
    monkeypatch.setattr(isolated, "HAS_GROUPS", False)
    with pytest.raises(ChildError, match="the picture must run on Linux or macOS"):
        child_process.ChildProcess("the picture").ask(pow, 2, 3)
    with pytest.raises(SettingError, match="must run on Linux or macOS"):
        search("math:sqrt", NodeLabeledSpace((2, 3), ["a"]), 3)


def test_where_memory_is_not_told_a_limit_of_it_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolated, "TELLS_MEMORY", False)
    Isolated("math:sqrt", timeout=1.0)
    with pytest.raises(SettingError, match="a memory limit must be on Linux"):
        Isolated("math:sqrt", memory_limit=2**30)


def test_the_package_names_the_versions_of_python_that_were_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert project["requires-python"] == f">={named[0]}"
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d., ]+) \| (.*) \|$", page.partition("### Python versions")[2], re.M)
    tested = [version for row, said in rows if said[:3] != "no:" for version in row.split(", ")]
    assert tested == named
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert {f"python{version}" for version in named[1:]} <= set(re.findall(r"python3\.\d+", ci))
    assert "make test-python PYTHON=" in ci

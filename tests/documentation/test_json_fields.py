"""docs/reference/json.md names the fields that the verbs print, all of them and no others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nasgoat.cli import run

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
SEARCH = ["search", "--evaluations", "12", "--report", "run", "--no-pictures", "--quiet"]
CALLS = {
    "nasgoat search": SEARCH,
    "nasgoat status": ["status", "run"],
    "nasgoat report": ["report", "run"],
    "nasgoat solve": ["solve", "--space", "nb201", "--observations", "5", "--top", "1"],
    "nasgoat methods": ["methods"],
    "nasgoat scale": ["scale", "scale.toml", "--quiet"],
    "nasgoat compare": ["compare", "compare.toml", "--quiet"],
    "nasgoat fronts": ["fronts", "fronts.toml", "--quiet"],
    "nasgoat kernels": ["kernels", "kernels.toml", "--quiet"],
    "nasgoat space check": ["space", "check", "nb201"],
    "nasgoat data status": ["data", "status"],
}


NB201 = 'benchmarks = ["nb201/cifar10"]\n'
EXPERIMENTS = {
    "scale.toml": 'kind = "scale"\nmethods = ["catalogue"]\nnodes = [4]\nobservations = [5]\n',
    "compare.toml": f'kind = "compare"\n{NB201}methods = ["random"]\nseeds = 1\nevaluations = 11',
    "fronts.toml": 'kind = "fronts"\nmethods = ["random"]\nseeds = 1\nevaluations = 11\nproblems = '
    '["nb201/cifar10: error, params", "nb201/cifar10: error; params <= 9 %"]',
    "kernels.toml": f'kind = "kernels"\n{NB201}kernels = ["SP"]\nseeds = 1\ntrain = 5\ntest = 5',
}


def documented(section: str) -> set[str]:
    """The fields in the first column of a section's table."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line.split(" | ")[0] for line in text.split("\n") if line.startswith("| `")]
    return {field for row in rows for field in re.findall(r"`([^`]+)`", row)}


def fields(document: Any, known: set[str], path: str = "") -> set[str]:
    """The fields of a document; what the page describes as a whole is not looked into."""
    if path in known or not isinstance(document, dict | list) or not document:
        return {path}
    if isinstance(document, list):
        return set().union(*(fields(item, known, f"{path}[]") for item in document))
    parts = {key: f"{path}.{key}" if path else key for key in document}
    return set().union(*(fields(document[key], known, place) for key, place in parts.items()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run and declared experiments."""
    folder = tmp_path_factory.mktemp("json")
    for name, text in EXPERIMENTS.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run([*SEARCH, "--json"]) == 0
    return folder


@pytest.mark.parametrize("section", CALLS)
def test_the_fields_of_a_verb_are_those_of_the_page(
    section: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run([*CALLS[section], "--json"]) == 0
    known = documented(section)
    assert fields(json.loads(capsys.readouterr().out), known) == known


def test_the_fields_of_several_objectives_are_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    several = ["--minimise", "error", "--minimise", "params", "--limit", "latency <= 99"]
    assert run([*SEARCH, *several, "--choose", "params <= 9e9", "--json"]) == 0
    known = documented("nasgoat search") | documented("Several objectives")
    found = fields(json.loads(capsys.readouterr().out), known)
    assert found == {field for field in known if not field.startswith("gain.")} | {"gain"}


def test_the_fields_of_result_json_are_those_of_the_page(folder: Path) -> None:
    document = json.loads((folder / "run" / "result.json").read_text(encoding="utf-8"))
    known = documented("result.json") | documented("nasgoat search")
    assert fields(document, known) == known

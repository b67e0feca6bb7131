"""What ``import nasgoat`` itself offers: names, version, spaces by name, completion."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import optuna
import pytest

import nasgoat
from nasgoat.cli import run
from nasgoat.errors import SpaceError, SpaceFileError, UnknownNameError
from nasgoat.spaces import parse_space


def test_every_public_name_and_the_version_are_listed_before_they_are_used() -> None:
    code = "import nasgoat; print(*dir(nasgoat))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert set(nasgoat.__all__) | {"__version__"} <= set(listed.stdout.split())


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert nasgoat.__version__ == version("nasgoat")
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"nasgoat {version('nasgoat')}\n"


@pytest.mark.parametrize(
    ("typed", "offered"), [("nasgoat se", "search"), ("nasgoat --ver", "--version")]
)
def test_the_shell_completes_verbs_and_options(typed: str, offered: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from nasgoat.cli import main; main()"],
        env=os.environ
        | {"_NASGOAT_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
    )
    assert offered in done.stdout.split()


def test_a_space_is_taken_by_its_name_wherever_one_is_taken() -> None:
    nb201 = nasgoat.nasbench201()
    assert nasgoat.load_space("nb201") == nasgoat.load_space(nb201) == nb201
    assert nasgoat.Optimizer("nb201").space == nb201
    method = nasgoat.make_method("random", "nb201")
    assert method.ask(1)[0].graph in nb201
    study = optuna.create_study(sampler=nasgoat.GoatSampler("nb201", initial=2))
    study.optimize(lambda t: len(nasgoat.suggest_graph(t, "nb201").edges), n_trials=3)
    assert len(study.trials) == 3


def test_search_takes_a_space_by_its_name() -> None:
    result = nasgoat.search(lambda cell: 5.0 + len(cell.edges), "nb101", 12)
    assert len(result.evaluations) == 12
    assert result.best.graph in nasgoat.nasbench101()


def test_a_wrong_space_gets_one_clear_line() -> None:
    with pytest.raises(UnknownNameError, match="got 'nb102'; did you mean nb101"):
        nasgoat.search(lambda cell: 0.0, "nb102")
    with pytest.raises(SpaceError, match="must be a SearchSpace, the name of a preset or a file"):
        nasgoat.search(len, 12)  # type: ignore[arg-type]
    with pytest.raises(SpaceFileError, match=r"missing\.toml"):
        nasgoat.load_space(Path("missing.toml"))


@pytest.mark.parametrize("kind", ["node-labeled", "node-labelled"])
def test_a_kind_may_be_spelt_the_american_way(kind: str) -> None:
    space = parse_space(f'[space]\nkind = "{kind}"\nnodes = [2, 4]\nops = ["a"]')
    assert space.kind == "node-labelled"


def test_an_unknown_kind_suggests_the_nearest() -> None:
    with pytest.raises(SpaceFileError, match=r"got 'node-label'; did you mean node-labelled\?"):
        parse_space('[space]\nkind = "node-label"\nnodes = [2, 4]\nops = ["a"]')

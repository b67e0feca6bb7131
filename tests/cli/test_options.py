"""Options in groups: a dataclass gives the command line its fields under a heading."""

import inspect
import re
from dataclasses import dataclass, fields
from typing import get_args

import pytest
import typer

from nasgoat import EdgeLabeledSpace, Settings, nasbench101, nasbench201
from nasgoat.acquisition.registry import list_optimizers
from nasgoat.bayesopt.evidence import OPEN_KERNELS
from nasgoat.bayesopt.settings import FUNCTIONS_OF_SEVERAL
from nasgoat.benchmarks import list_benchmarks
from nasgoat.cli import run
from nasgoat.cli.options import Evaluating, Seed, Solving, option, with_groups
from nasgoat.cli.search import Output, Proposing, Target, search
from nasgoat.cli.solve import solve
from nasgoat.kernels import FORMS
from nasgoat.search_methods import find_own_batch


@dataclass(frozen=True)
class Colours:
    """Which colours are used."""

    colour: str = option("A colour.", "red", "--colour", "-c")
    seed: Seed = 0


def call(verb: object, *arguments: str) -> None:
    app = typer.Typer(add_completion=False)
    app.command()(with_groups(verb))  # type: ignore[arg-type]
    app(list(arguments), standalone_mode=False)


def test_a_verb_gets_its_groups_and_its_own_options() -> None:
    got: list[object] = []

    def verb(top: int = 5, *, colours: Colours) -> None:
        got.extend((top, colours))

    call(verb)
    call(verb, "-c", "blue", "--seed", "3", "--top", "2")
    assert got == [5, Colours("red", 0), 2, Colours("blue", 3)]


def test_a_group_may_be_called_like_an_option_of_another() -> None:
    got: list[object] = []

    def verb(colour: Colours, solving: Solving) -> None:
        got.extend((colour, solving))

    call(verb, "--colour", "blue", "--optimizer", "scip")
    assert got == [Colours("blue", 0), Solving(optimizer="scip")]


def test_two_groups_cannot_have_an_option_of_the_same_name() -> None:
    def verb(colours: Colours, proposing: Proposing) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'seed'"):
        with_groups(verb)


def test_help_shows_every_option_of_search_under_its_heading(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["search", "--help"]) == 0
    said = capsys.readouterr().out
    places = []
    for group in (Target, Proposing, Solving, Evaluating, Output):
        places.append(said.index(str(group.__doc__).rstrip(".")))
        places += [said.index(f"--{field.name.replace('_', '-')} ") for field in fields(group)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--seed", "-1"], "--seed must be at least 0, got -1"),
        (["--storage", ""], "the storage must be a file or the URL of a database, got ''"),
        (["--storage", "sqlite:///"], "the storage must be a file or the URL of a database"),
        (["--storage", "/"], "the storage must be a file or the URL of a database, got the folder"),
        (["--storage", "."], "the storage must be a file or the URL of a database, got the folder"),
        (["--space", "nb201", "--objective", ""], "must be module:function, got ''"),
        (["--benchmark", ""], "benchmark must be one of those that nasgoat data status lists"),
        (["--known", "."], "known must be the folder of a run, got ., which has none"),
        (["--space", "nb201", "--objective", "m:f", "--noisy"], "--noisy must come with a bench"),
        (["--space", "nb201", "--objective", "m:f", "--benchmark", "nb101"], "--benchmark must"),
    ],
)
def test_odd_values_are_refused_in_one_line(
    options: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "--evaluations", "5", "--initial", "3", *options]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said


def test_an_unknown_benchmark_is_a_short_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--benchmark", "nb201/cifar11"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "did you mean nb201/cifar10 or " in said
    assert len(said) < 200


def test_solve_has_the_functions_of_one_objective(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "--space", "nb201", "--acquisition", "hypervolume"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "the acquisition of one objective must be one of " in said
    assert "ei, lcb, thompson, got 'hypervolume'" in said


def test_help_of_solve_names_every_kernel_and_function() -> None:
    hints = inspect.get_annotations(solve)
    kernel, function = (get_args(hints[name])[1].help for name in ("kernel", "acquisition"))
    assert all(name in kernel for name in FORMS)
    assert all(name in function for name in ("lcb", "ei", "thompson"))
    assert "hypervolume" not in function


def test_help_names_every_choice_and_default() -> None:
    hints = inspect.get_annotations(search)

    def words(name: str) -> str:
        (option,) = get_args(hints[name])[1:]
        return str(option.help)

    for name in list_benchmarks():
        assert all(part in words("benchmark") for part in re.split(r"[/+]", name))
    assert all(name in words("optimizer") for name in list_optimizers())
    assert all(name in words("acquisition") for name in ("lcb", "ei", *FUNCTIONS_OF_SEVERAL))
    assert all(name in words("kernel") for name in (*FORMS, *OPEN_KERNELS))
    spaces = nasbench101(), nasbench201(), EdgeLabeledSpace(3, ["conv", "pool"])
    nodes, skipping, edges = (Settings().choose_kernel(space, "auto").kernel for space in spaces)
    assert nodes == skipping
    scored = f"By default, where every graph can be scored, {nodes}, or {edges} if"
    assert f"{scored} operations are on edges and none is a skip connection;" in words("kernel")
    assert f"{find_own_batch('goat')} for goat" in words("batch")

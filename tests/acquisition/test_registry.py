from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.house import House

import nasgoat
from nasgoat import (
    EdgeLabeledSpace,
    GraphGP,
    LowerConfidenceBound,
    NodeLabeledSpace,
    SearchSpace,
    Settings,
    darts,
    nasbench101,
    nasbench201,
)
from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Catalogue,
    Cost,
    Effort,
    Mutation,
    Reason,
    Sampling,
    choose,
    costs,
    list_optimizers,
    make_optimizer,
    register_optimizer,
    registry,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.cells import structures
from nasgoat.acquisition.local_search import LocalSearch
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.cli import run
from nasgoat.errors import SettingError, TooLargeError, UnknownNameError
from nasgoat.spaces import ChainSpace, load_space, to_toml
from nasgoat.upper_layers import FORMULATIONS, SOLVERS

OPS = ["a", "b", "c"]
DENSE = NodeLabeledSpace(11, OPS)


@pytest.mark.parametrize(
    ("space", "name"),
    [
        (nasbench201(), "catalogue"),
        (nasbench101(), "branch"),
        (darts(), "branch"),
        (NodeLabeledSpace(10, OPS, max_edges=12), "branch"),
        (NodeLabeledSpace(9, OPS), "branch"),
        (DENSE, "branch"),
        (EdgeLabeledSpace(8, ["a", "b"]), "scip"),
    ],
)
def test_the_choice_follows_the_size_of_the_space(space: SearchSpace, name: str) -> None:
    assert choose(space).name == name


@pytest.mark.parametrize(
    ("kernel", "questions", "name"),
    [
        ("linear", 1, "branch"),
        ("linear", 5, "branch"),
        ("exponential", 1, "branch"),
        ("exponential", 5, "catalogue"),  # which scores once for all five
    ],
)
def test_the_choice_follows_kernel_and_questions(kernel: str, questions: int, name: str) -> None:
    assert choose(nasbench101(), kernel, questions).name == name


@pytest.mark.parametrize("kernel", ["linear", "exponential"])
@pytest.mark.parametrize("questions", [1, 5])
@pytest.mark.parametrize("space", [nasbench101(), darts(), NodeLabeledSpace(8, OPS), DENSE])
def test_no_exact_optimiser_that_applies_is_cheaper_than_the_one_taken(
    space: SearchSpace, kernel: str, questions: int
) -> None:
    choice = choose(space, kernel, questions)
    costs = [entry["seconds"] for entry in choice.list_exact() if entry["applies"]]
    assert choice.seconds == min(costs)


def test_blocks_that_no_exact_optimiser_knows_are_left_out_and_named() -> None:
    blocks = ("paths", "nodes", "edges", "operations", "longest")
    small = choose(nasbench201(), "exponential", 5, blocks=blocks)
    assert (small.name, small.blocks, small.left_out) == ("catalogue", blocks, ())
    large = choose(darts(), "exponential", 5, blocks=blocks)
    assert (large.name, large.blocks) == ("branch", ("paths", "nodes", "edges", "operations"))
    assert large.left_out == ("longest",)
    assert large.reason.endswith("; blocks left out: longest")


@pytest.mark.parametrize("name", ["branch", "scip"])
def test_blocks_are_refused_by_an_optimiser_that_was_asked_for(name: str) -> None:
    blocks = ("paths", "nodes", "edges", "surroundings")
    with pytest.raises(SettingError, match=f"for the optimizer {name}, got paths, nodes, edges, s"):
        choose(nasbench101(), name=name, blocks=blocks)
    cells = nasbench101().sample(5, np.random.default_rng(0))
    gp = GraphGP(nasbench101(), blocks=blocks).fit(cells, range(5))
    with pytest.raises(SettingError, match="the blocks must be among paths, nodes, edges, op"):
        make_optimizer(name, nasbench101()).optimize(LowerConfidenceBound(3.0, gp))


def test_the_reason_says_what_is_searched_and_what_the_forecast_is_for() -> None:
    reason = choose(darts(), "linear", 5).reason
    assert "180 structures" in reason
    assert "linear kernel, 5 questions at a time" in reason


def test_auto_says_what_it_chose() -> None:
    lines: list[str] = []
    assert make_optimizer("auto", darts(), lines.append).name == "branch"
    assert any("branch and bound: 180 structures" in line for line in lines)


def test_a_choice_that_was_made_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = choose(nasbench201())
    monkeypatch.setattr("nasgoat.acquisition.choice.choose", None)
    assert make_optimizer(choice, nasbench201()).name == "catalogue"


def test_a_forecast_above_the_time_limit_is_announced_with_what_to_do() -> None:
    lines: list[str] = []
    make_optimizer("auto", DENSE, lines.append, effort=Effort(time_limit=60))
    assert "forecast to take 500 s, the time limit is 60 s" in lines[-1]
    assert "raise the time limit, or take mutation" in lines[-1]
    lines.clear()
    make_optimizer("branch", DENSE, lines.append, effort=Effort(time_limit=60))
    assert "forecast to take 500 s" in lines[-1]
    scoring = choose(nasbench201(), name="catalogue")
    assert scoring.warn(1e-6) is None, "only the building of a catalogue is stopped by the limit"


def _sampling(space: SearchSpace, progress: object = None) -> AcquisitionOptimizer:
    return Sampling(space)


def test_a_registered_optimiser_is_taken_where_it_is_cheapest() -> None:
    def cost(space: SearchSpace, kernel: str, questions: int) -> Cost | Reason:
        if space.layout != "cell":
            return Reason("it knows cells alone")
        return Cost(0.001 * questions, 2.0, "an oracle")

    register_optimizer("oracle", _sampling, cost)
    assert choose(darts()).name == "oracle"
    assert "oracle: an oracle, about 0.001 s a question" in choose(darts()).reason
    assert choose(nasbench201()).name == "catalogue", "which is ready at once"
    assert {"name": "oracle", "applies": True}.items() <= choose(darts()).list_exact()[-1].items()


def test_a_registered_optimiser_without_a_cost_is_taken_by_its_name_alone() -> None:
    register_optimizer("oracle", _sampling)
    assert choose(darts()).name == "branch"
    assert choose(darts(), name="oracle").reason == "oracle: asked for"


def test_wrong_names_and_limits_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="catalogue"):
        choose(darts(), name="catalog")
    with pytest.raises(UnknownNameError, match="compact"):
        Effort(formulation="full")
    for wrong in ({"time_limit": 0}, {"threads": 0}, {"gap": 1.0}, {"memory": -1}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            Effort(**wrong)


def test_an_optimiser_that_does_not_apply_is_announced_with_what_to_do() -> None:
    lines: list[str] = []
    make_optimizer("branch", DENSE, lines.append, kernel="exponential")
    (line,) = lines
    assert line.startswith("branch may not apply: ")
    assert "2,000,000 fit in memory; take auto" in line


@pytest.fixture
def forecasts() -> list[str]:
    """The kernels of all forecasts so far: one entry for each time that ``auto`` decided."""
    kernels: list[str] = []

    def cost(space: SearchSpace, kernel: str, questions: int) -> Cost | Reason:
        kernels.append(kernel)
        return Reason("it only counts")

    register_optimizer("witness", _sampling, cost)
    return kernels


@pytest.mark.parametrize(
    ("call", "decisions"),
    [
        (["search", "--evaluations", "12", "--quiet", "--no-pictures", "--json"], 1),
        (["solve", "--space", "nb201", "--observations", "9", "--json"], 1),
        # Beside what a search takes, each optimiser's cost is listed under one kernel.
        (["space", "check", "nb201", "--json"], 2),
        (["space", "check", "nb201", "--kernel", "linear", "--json"], 1),
    ],
    ids=["search", "solve", "space", "space by kernel"],
)
def test_auto_decides_once_in_a_command(
    call: list[str],
    decisions: int,
    forecasts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(call) == 0
    assert len(forecasts) == decisions


def test_auto_decides_once_in_a_search_from_python(forecasts: list[str]) -> None:
    nasgoat.search(lambda cell: 5.0 + len(cell.edges), nasbench201(), 14, settings=Settings())
    assert forecasts == ["exponential"]


def test_the_registry_asks_each_optimiser_for_its_own_cost() -> None:
    classes: dict[str, Any] = {
        "catalogue": Catalogue,
        "branch": BranchAndBound,
        "local": LocalSearch,
        "mutation": Mutation,
        "sampling": Sampling,
        **dict.fromkeys(SOLVERS, MipOptimizer),
    }
    assert list_optimizers() == ["auto", *registry.TABLE]
    assert classes.keys() == registry.TABLE.keys()
    for name, kind in classes.items():
        assert registry.TABLE[name].cost is kind.cost


def test_solvers_and_formulations_are_listed_in_one_place() -> None:
    modules = House.read(Path(__file__).parents[2]).modules
    listed: dict[tuple[str, ...], set[str]] = {SOLVERS: set(), FORMULATIONS: set()}
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                held = {item.value for item in node.elts if isinstance(item, ast.Constant)}
                for names, places in listed.items():
                    if set(names) <= held:
                        places.add(name)
    assert [*listed.values()] == [{"nasgoat.upper_layers"}] * 2


FILES = {
    "eight nodes": NodeLabeledSpace(8, OPS),
    "twelve layers": ChainSpace(12, tuple(OPS)),
    "graph": load_space("molecules"),
}


SHORT = ["--time-limit", "0.001"]
PAPER = ["--preset", "paper"]


@pytest.mark.parametrize(
    ("options", "space"),
    [
        *(([], space) for space in ["nb201", "eight nodes"]),
        *((PAPER, space) for space in ["nb101"]),
        *((SHORT, space) for space in ["darts", "twelve layers"]),
        *(
            pytest.param(options, space, marks=pytest.mark.slow)
            for options, space in [
                *(([], space) for space in ["nb101", "darts", "graph", "twelve layers"]),
                *((PAPER, space) for space in ["darts", "eight nodes"]),
                (SHORT, "nb201"),
            ]
        ),
    ],
)
def test_check_and_search_give_one_answer(
    space: str, options: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if space in FILES:
        file = tmp_path / "space.toml"
        file.write_text(to_toml(FILES[space]))
        space = str(file)
    assert run(["space", "check", space, "--json", *options]) == 0
    checked = json.loads(capsys.readouterr().out)["auto"]
    call = ["search", "--space", space, "--command", "echo 1", "--evaluations", "1", *options]
    assert run([*call, "--report", str(tmp_path / "run"), "--no-pictures", "--json"]) == 0
    searched = capsys.readouterr()
    document = json.loads(searched.out)["optimizer"]
    assert document == {"name": checked["optimizer"], "reason": checked["reason"]}
    before, table, _ = searched.err.partition(" iteration ")
    assert table, "the first evaluation comes after the head of the table"
    assert f"optimiser: {checked['reason']}" in before.splitlines()
    if warning := checked["warning"]:
        assert warning in before.splitlines()
        assert "raise the time limit, or take mutation" in warning
    else:
        assert "forecast to take" not in searched.err


@pytest.mark.parametrize(
    ("space", "limit", "seconds"),
    [("darts", 0.5, "0.6 s"), ("eight nodes", 1800, "300000 s")],  # branch and bound; SCIP
)
def test_check_announces_a_forecast_above_the_limit(
    space: str, limit: float, seconds: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if space in FILES:
        (tmp_path / "space.toml").write_text(to_toml(FILES[space]))
        space = str(tmp_path / "space.toml")
    options = ["--time-limit", str(limit), "--kernel", "exponential"]
    assert run(["space", "check", space, *options]) == 0
    told = capsys.readouterr().out
    assert f"forecast to take {seconds}, the time limit is {limit} s" in told


def test_one_number_of_structures_is_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    space = NodeLabeledSpace(5, OPS)
    monkeypatch.setattr(costs, "LARGEST_BRANCH", 10)
    monkeypatch.setattr(structures, "LARGEST_BRANCH", 10)
    refused = costs.forecast_branch(space, "exponential", 1)
    assert isinstance(refused, Reason)
    with pytest.raises(TooLargeError, match="at most 10 structures"):
        BranchAndBound(space).prepare(exponential=True)

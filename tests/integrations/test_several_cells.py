"""A search of several cells from end to end: storage, resume, report, Optuna, networks."""

import json
from pathlib import Path

import numpy as np
import optuna
import pytest

from nasgoat import (
    Cells,
    ChainSpace,
    GoatSampler,
    LabeledGraph,
    NamedGraphs,
    NodeLabeledSpace,
    Optimizer,
    make_method,
    nasbench101,
    nasbench201,
    search,
    suggest_graph,
)
from nasgoat.acquisition import KnownCost
from nasgoat.cli import run
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.figures import draw, ladder
from nasgoat.integrations.trial_graphs import GraphParameters
from nasgoat.report.notebook import draw_graph, write_html

SPACE = Cells(
    normal=ChainSpace(3, ["conv", "skip"]), reduction=NodeLabeledSpace((2, 4), ["conv", "pool"])
).constrain("normal.conv + reduction.conv <= 3", costs={"params": {"conv": 2.0, "pool": 0.5}})


def count_edges(graph: LabeledGraph) -> float:
    """Few edges in one cell and many in the other are best."""
    assert isinstance(graph, NamedGraphs)
    labels = list((graph.normal.edge_labels or {}).values())
    return 5.0 + labels.count("conv") - 0.5 * len(graph.reduction.edges)


def test_a_search_finds_the_best_combination() -> None:
    result = search(count_edges, SPACE, evaluations=24, batch=3, initial=6, seed=0)
    assert result.best.error == 5.0 - 0.5 * 6
    assert isinstance(result.best.graph, NamedGraphs)
    assert all(evaluation.graph in SPACE for evaluation in result.evaluations)
    proven = [e.proposal.certificate.certified for e in result.evaluations[6:]]
    assert all(proven)


def test_a_stored_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    options = {"batch": 2, "initial": 6, "seed": 1}
    whole = search(count_edges, SPACE, evaluations=14, **options)  # type: ignore[arg-type]
    for evaluations in (10, 14):
        again = search(
            count_edges,
            SPACE,
            evaluations=evaluations,
            storage=url,
            study="cells",
            **options,  # type: ignore[arg-type]
        )
    assert [e.graph for e in again.evaluations] == [e.graph for e in whole.evaluations]


@pytest.mark.parametrize("seed", range(3))
def test_every_graph_is_written_as_parameters_and_read_back(seed: int) -> None:
    parameters = GraphParameters(SPACE)
    for graph in SPACE.sample(10, np.random.default_rng(seed)):
        read = parameters.decode(parameters.encode(graph))
        assert SPACE.key(read) == SPACE.key(graph)


def test_optuna_samples_several_cells() -> None:
    study = optuna.create_study(sampler=GoatSampler(SPACE, initial=5, seed=0))
    study.optimize(lambda trial: count_edges(suggest_graph(trial, SPACE)), n_trials=10)
    assert len({trial.params["graph"] for trial in study.trials}) == 10
    assert study.best_value <= 4.0


def test_a_known_cost_of_all_cells_can_be_minimised() -> None:
    result = search(
        lambda graph: {"error": count_edges(graph)},
        SPACE,
        evaluations=14,
        batch=2,
        initial=6,
        minimise=["error", "params"],
    )
    cost = KnownCost.of(SPACE, "normal.sum(params) + reduction.sum(params)")
    graph = result.evaluations[0].graph
    assert cost.predict([graph])[0].item() == SPACE.price([graph], "params").item()
    assert len(result.front) >= 2


def test_both_cells_are_drawn() -> None:
    graph = SPACE.sample(1, np.random.default_rng(0))[0]
    figure = draw(graph, title="Two cells")
    assert [axes.get_title() for axes in figure.axes] == ["Two cells\nnormal", "reduction"]
    assert "normal" in ladder(graph)
    assert "reduction" in ladder(graph)
    svg = draw_graph(graph)
    assert svg.count("<svg") == 1
    assert ">normal</text>" in svg
    assert ">reduction</text>" in svg
    assert graph._repr_svg_() == svg
    assert "normal: " in write_html(SPACE)
    assert "conv, skip, pool" in write_html(SPACE)


FILE = """
[cells.normal]
kind = "chain"
layers = 3
ops = ["conv", "skip"]

[cells.reduction]
kind = "node-labelled"
nodes = [2, 4]
ops = ["conv", "pool"]

[limits]
few = "normal.conv + reduction.conv <= 3"
"""


def test_the_command_line_takes_a_file_of_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cells.toml").write_text(FILE)
    assert run(["space", "count", "cells.toml"]) == 0
    assert capsys.readouterr().out.strip() == str(SPACE.count())
    assert run(["space", "check", "cells.toml", "--json"]) == 0
    declared = json.loads(capsys.readouterr().out)["space"]
    assert [cell["name"] for cell in declared["cells"]] == ["normal", "reduction"]
    assert run(["space", "sample", "cells.toml", "--count", "2"]) == 0
    assert capsys.readouterr().out.count("reduction") == 2
    assert run(["space", "draw", "cells.toml", "--output", "cells.png"]) == 0
    assert Path("cells.png").stat().st_size > 0
    capsys.readouterr()
    options = ["--space", "cells.toml", "--objective", f"{__name__}:count_edges"]
    budget = ["--evaluations", "8", "--initial", "6", "--batch", "2", "--report", "here", "--json"]
    assert run(["search", *options, *budget]) == 0
    best = LabeledGraph.from_json(json.loads(capsys.readouterr().out)["best"]["graph"])
    assert list(best.cells) == ["normal", "reduction"]
    assert run(["report", "here", "--output", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert page.count(">normal</text>") >= 2
    assert page.count(">reduction</text>") >= 2
    capsys.readouterr()
    Path("wrong.toml").write_text(FILE.replace("normal.conv", "norml.conv"))
    assert run(["space", "check", "wrong.toml"]) == 2
    refused = capsys.readouterr().err
    assert "wrong.toml:13: limits.few: a cell in a limit must be one of" in refused
    assert refused.count("\n") == 1


def test_cells_become_a_network() -> None:
    torch = pytest.importorskip("torch")
    from nasgoat.export import to_torch

    space = Cells(normal=nasbench101(), reduction=nasbench201())
    graph = space.sample(1, np.random.default_rng(0))[0]
    network = to_torch(graph, channels=4, order=["normal", "normal", "reduction", "normal"])
    assert network(torch.zeros(2, 3, 16, 16)).shape == (2, 10)
    kinds = [type(layer).__name__ for layer in network.children()]
    assert [kind for kind in kinds if kind.endswith("Cell")] == [
        "NodeCell",
        "NodeCell",
        "EdgeCell",
        "NodeCell",
    ]
    in_turn = [type(layer).__name__ for layer in to_torch(graph, channels=4, cells=3).children()]
    assert in_turn.count("NodeCell") == 2
    with pytest.raises(UnknownNameError, match="a cell of order must be one of normal, reduction"):
        to_torch(graph, order=["other"])
    with pytest.raises(SettingError, match="order must be of a graph of several cells"):
        to_torch(graph.cells["normal"], order=["normal"])


def test_asking_and_telling_takes_graphs_of_cells() -> None:
    optimizer = Optimizer(SPACE, seed=0)
    for _ in range(3):
        for proposal in optimizer.ask(4):
            optimizer.tell(proposal.graph, count_edges(proposal.graph))
    asked = optimizer.ask(2)
    assert len(asked) == 2
    assert all(isinstance(proposal.graph, NamedGraphs) for proposal in asked)


def test_other_methods_search_or_say_why_not() -> None:
    for name in ("random", "evolution", "local-search"):
        method = make_method(name, SPACE, initial=4)
        for proposal in method.ask(4):
            method.tell(proposal.graph, count_edges(proposal.graph))
        asked = method.ask(2)
        assert len(asked) == 2
        assert all(proposal.graph in SPACE for proposal in asked)
    with pytest.raises(SettingError, match="must have one cell for the method bananas, got normal"):
        make_method("bananas", SPACE)

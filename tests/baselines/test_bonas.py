from __future__ import annotations

from typing import Any

import pytest

from nasgoat import nasbench201
from nasgoat.baselines.method import Setup

pytest.importorskip("torch", reason="PyTorch is not installed (extra neural)")

from nasgoat.baselines.bonas import Bonas
from nasgoat.baselines.graph_network import GraphNetworks


def told(method: Bonas) -> Bonas:
    for proposal in method.ask(method.initial):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    return method


def test_full_training_is_that_of_the_public_code(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[Any, ...]] = []

    def fit(self: GraphNetworks, graphs: Any, targets: Any, *training: Any) -> None:
        used.append((self.members, self.convolutions[-1].shape[1], self.dropout, *training))

    monkeypatch.setattr(GraphNetworks, "fit", fit)
    told(Bonas(Setup(nasbench201()), full=True)).ask(5)
    told(Bonas(Setup(nasbench201()))).ask(5)
    assert used == [(5, 144, 0.1, 300, 7, 1e-4), (5, 48, 0.1, 60, 32, 5e-3)]


@pytest.mark.slow
def test_full_training_proposes_new_graphs() -> None:
    method = told(Bonas(Setup(nasbench201(), initial=14), full=True))
    asked = [proposal.graph for proposal in method.ask(5)]
    assert len(set(asked)) == 5
    assert not {*asked} & {graph for graph, _ in method.observations}

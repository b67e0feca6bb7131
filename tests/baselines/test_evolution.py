from __future__ import annotations

import pytest

from nasgoat import nasbench201
from nasgoat.baselines.evolution import Evolution
from nasgoat.baselines.method import Setup
from nasgoat.errors import UnknownNameError


def told(method: Evolution, errors: list[float]) -> None:
    for error in errors:
        method.tell(method.ask(1)[0].graph, error)


def near(method: Evolution, parent: int, child: int) -> bool:
    """Whether two observations differ in few places: a mutation changes one on average."""
    digits = [nasbench201().digits(graph) for graph, _ in method.observations]
    return int((digits[parent] != digits[child]).sum()) <= 3


def test_a_whole_tournament_mutates_the_best() -> None:
    method = Evolution(Setup(nasbench201(), initial=5), tournament=200)
    told(method, [5.0, 4.0, 1.0, 3.0, 2.0, 9.0])
    assert near(method, 2, 5)


def test_the_oldest_leaves_if_asked_to() -> None:
    method = Evolution(
        Setup(nasbench201(), initial=4), population=2, tournament=50, remove="oldest"
    )
    told(method, [1.0, 2.0, 9.0, 8.0, 7.0])
    # the population is the last two, of which observation 3 is the better
    assert near(method, 3, 4)


def test_removal_must_be_known() -> None:
    with pytest.raises(UnknownNameError, match="remove must be one of oldest, worst"):
        Evolution(Setup(nasbench201()), remove="youngest")

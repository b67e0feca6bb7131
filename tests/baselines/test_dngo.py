from __future__ import annotations

import numpy as np
import pytest

from nasgoat import nasbench201
from nasgoat.baselines.bohamiann import Bohamiann
from nasgoat.baselines.dngo import Dngo, EncodedSearch
from nasgoat.baselines.method import Setup

Surrogates = type[Dngo] | type[Bohamiann]


def asked(
    kind: Surrogates, as_published: bool, slope: float, monkeypatch: pytest.MonkeyPatch
) -> list[float]:
    """Means, by a made-up surrogate, of the graphs that are proposed."""
    means: list[float] = []

    def predicted(
        self: EncodedSearch,
        rows: np.ndarray,
        targets: np.ndarray,
        new: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        means[:] = (slope * new.sum(axis=1)).tolist()
        return np.array(means), np.ones(len(new))

    monkeypatch.setattr(kind, "_predicted", predicted)
    space = nasbench201()
    method = kind(Setup(space, initial=5), as_published=as_published)
    for proposal in method.ask(5):
        method.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
    values = [proposal.certificate.value for proposal in method.ask(3)]
    return [value for value in values if value is not None]


@pytest.mark.parametrize("kind", [Dngo, Bohamiann])
def test_lowest_mean_less_half_a_deviation_is_proposed(
    kind: Surrogates, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = asked(kind, False, 1.0, monkeypatch)
    down = asked(kind, False, -1.0, monkeypatch)
    assert up == sorted(up) and down == sorted(down)
    assert up != down


@pytest.mark.parametrize("kind", [Dngo, Bohamiann])
def test_public_code_takes_no_notice_of_the_means(
    kind: Surrogates, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(kind, True, 1.0, monkeypatch) == asked(kind, True, -1.0, monkeypatch)


def test_surrogate_finds_the_direction_of_a_linear_error() -> None:
    space = nasbench201()
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 4))
    new = rng.standard_normal((20, 4))
    weights = np.array([1.0, -1.0, 0.5, 0.0])
    for method in (Dngo(Setup(space)), Bohamiann(Setup(space), steps=3_000)):
        mean, std = method._predicted(rows, rows @ weights, new, rng)
        assert np.corrcoef(mean, new @ weights)[0, 1] > 0.9
        assert (std > 0).all()

"""The lower confidence bound of a mixture of surrogates."""

import numpy as np
import pytest

from nasgoat import Catalogue, GraphGP, LowerConfidenceBound, nasbench201
from nasgoat.acquisition import AveragedBound, HypervolumeImprovement, Mutation, Status
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.errors import SettingError

SPACE = nasbench201()
CELLS = SPACE.sample(40, np.random.default_rng(0))
ERRORS = [float(len(cell.edges)) + 0.1 * i for i, cell in enumerate(CELLS[:25])]
GPS = tuple(
    GraphGP(SPACE, form, blocks=blocks).fit(CELLS[:25], ERRORS)
    for form, blocks in (("exponential", ("paths", "edges")), ("normalised", ("edges", "shape")))
)


def test_mean_and_deviation_are_those_of_draws_from_the_mixture() -> None:
    both = AveragedBound(GPS, (0.3, 0.7))
    mean, std = both.predict(CELLS[25:])
    rng = np.random.default_rng(1)
    draws = 200_000
    for i, cell in enumerate(CELLS[25:30]):
        (a, s), (b, t) = (tuple(float(x[0]) for x in gp.predict([cell])) for gp in GPS)
        first = rng.random(draws) < 0.3
        drawn = np.where(first, rng.normal(a, s, draws), rng.normal(b, t, draws))
        assert mean[i] == pytest.approx(drawn.mean(), abs=0.02)  # seven standard errors or so
        assert std[i] == pytest.approx(drawn.std(), abs=0.02)


def test_one_surrogate_alone_is_its_own_bound() -> None:
    alone = AveragedBound(GPS[:1], (1.0,), 2.0)
    single = LowerConfidenceBound(2.0, GPS[0])
    for mine, its in zip(alone.assess(CELLS[25:]), single.assess(CELLS[25:]), strict=True):
        assert mine == pytest.approx(its, abs=1e-12)


def test_where_surrogates_disagree_the_deviation_is_larger() -> None:
    both = AveragedBound(GPS, (0.5, 0.5))
    (a, s), (b, t) = (gp.predict(CELLS[25:]) for gp in GPS)
    _, std = both.predict(CELLS[25:])
    assert std**2 == pytest.approx((s**2 + t**2) / 2 + (a - b) ** 2 / 4)


def test_the_catalogue_finds_the_least_of_all_graphs() -> None:
    both = AveragedBound(GPS, (0.4, 0.6), 1.5)
    every = [graph for batch in SPACE.enumerate() for graph in batch]
    values = both.score(every)
    (found,) = Catalogue(SPACE).optimize(both)
    assert found.certificate.status is Status.OPTIMAL
    assert found.certificate.value == pytest.approx(values.min(), abs=1e-9)
    mean, std = both.predict([found.graph])
    assert (found.mean, found.std) == pytest.approx((mean[0], std[0]))
    assert mean[0] - 1.5 * std[0] == pytest.approx(values.min(), abs=1e-9)


def test_mutation_knows_it_too() -> None:
    both = AveragedBound(GPS, (0.4, 0.6))
    pool = Mutation(SPACE, seed=0).optimize(both, 3, {SPACE.key(cell) for cell in CELLS[:25]})
    values = [proposal.certificate.value for proposal in pool]
    assert values == pytest.approx(both.score([proposal.graph for proposal in pool]).tolist())


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 0.6), (1.5, -0.5)])
def test_weights_are_one_for_each_and_sum_to_one(weights: tuple[float, ...]) -> None:
    with pytest.raises(SettingError, match="weights must"):
        AveragedBound(GPS, weights)


def make_front() -> HypervolumeImprovement:
    """The gains of a front whose first value several surrogates predict."""
    errors, other = AveragedBound(GPS, (0.4, 0.6)), LowerConfidenceBound(1.0, GPS[1])
    return HypervolumeImprovement([errors, other], [[0.5, 0.0], [0.0, 0.5]], [1.0, 1.0])


def test_a_part_of_a_front_may_be_a_mixture() -> None:
    ehvi = make_front()
    every = [graph for batch in SPACE.enumerate() for graph in batch]
    (mean, std), (other, deviation) = (part.predict(every) for part in ehvi.parts)
    expected = ehvi.combine(np.stack([mean, other]), np.stack([std, deviation]))
    (found,) = Catalogue(SPACE).optimize(ehvi)
    assert found.certificate.status is Status.OPTIMAL
    assert found.certificate.value == pytest.approx(expected.min(), abs=1e-9)
    assert ehvi.score([found.graph]) == pytest.approx(expected.min(), abs=1e-9)
    assert found.mean == pytest.approx(ehvi.parts[0].predict([found.graph])[0][0])


def test_a_front_that_believes_a_graph_asks_every_voice_of_a_mixture() -> None:
    ehvi = make_front()
    after = ehvi.assume_predicted(CELLS[30:31])
    for part, believed in zip(ehvi.parts, after.parts, strict=True):
        (mean, std), (same, less) = (p.predict(CELLS[30:31]) for p in (part, believed))
        assert same == pytest.approx(mean, abs=1e-6)
        assert less < std
    voices = after.parts[0]
    assert isinstance(voices, AveragedBound)
    assert all(len(gp._observed[1]) == 26 for gp in voices.surrogates)


def test_bounds_of_a_mixture_are_not_claimed() -> None:
    with pytest.raises(SettingError, match="averages several surrogates; use the catalogue"):
        BranchAndBound(SPACE).optimize(make_front())

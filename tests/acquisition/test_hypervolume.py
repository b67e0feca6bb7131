"""Expected hypervolume improvement: against integration, far in the tail, and its bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from nasgoat import EdgeLabeledSpace
from nasgoat.acquisition import (
    Catalogue,
    HypervolumeImprovement,
    KnownCost,
    find_front,
    random_problem,
)
from nasgoat.testing.contract import list_graphs

Array = NDArray[np.float64]
SPACE = EdgeLabeledSpace(3, ["a", "b", "c"])
PARTS = [random_problem(SPACE, 6, seed=seed).acquisition for seed in (0, 1)]


def improvement(front: Array, reference: list[float]) -> HypervolumeImprovement:
    return HypervolumeImprovement(PARTS, front, reference)


def volume(front: Array, reference: list[float]) -> float:
    """The volume that a front dominates, by the cells of the grid through its points."""
    inside = [
        point for point in front.tolist() if point[0] < reference[0] and point[1] < reference[1]
    ]
    xs = sorted({*(p[0] for p in inside), reference[0]})
    ys = sorted({*(p[1] for p in inside), reference[1]})
    total = 0.0
    for left, right in pairwise(xs):
        for low, high in pairwise(ys):
            if any(p[0] <= left and p[1] <= low for p in inside):
                total += (right - left) * (high - low)
    return total


def integrate(front: Array, reference: list[float], mean: Array, std: Array) -> float:
    """E of the improvement: the outer integral by quadrature, the inner one exactly by pieces."""

    def inside(x: float) -> float:
        # E over y of ∫ of what (x, y) dominates and the front does not.
        levels = sorted(
            {p[0] for p in front.tolist() if x < p[0] < reference[0]} | {x, reference[0]}
        )
        total = 0.0
        for left, right in pairwise(levels):
            heights = [p[1] for p in front.tolist() if p[0] <= left]
            height = min([reference[1], *heights])
            z = (height - mean[1]) / std[1]
            total += (right - left) * std[1] * (norm.pdf(z) + z * norm.cdf(z))
        return total * float(norm.pdf(x, mean[0], std[0]))

    low = min(mean[0] - 12 * std[0], reference[0])
    cuts = [p[0] for p in front.tolist() if low < p[0] < reference[0]] + [mean[0]]
    edges = sorted({low, reference[0], *(c for c in cuts if low < c < reference[0])})
    return float(sum(quad(inside, a, b, limit=200)[0] for a, b in pairwise(edges)))


@pytest.mark.parametrize("seed", range(25))
def test_it_is_the_integral_of_the_improvement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    front = rng.normal(size=(int(rng.integers(0, 7)), 2))
    reference = rng.normal(0.8, 0.5, size=2).tolist()
    mean, std = rng.normal(size=2), np.exp(rng.normal(-0.7, 0.8, size=2))
    expected = integrate(front, reference, mean, std)
    found = np.exp(-improvement(front, reference).combine(mean[:, None], std[:, None]))[0]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.filterwarnings("ignore")  # whatever another package warns of
@pytest.mark.parametrize("seed", range(10))
def test_it_is_that_of_botorch(seed: int) -> None:
    reason = 'BoTorch is not installed: pip install "nasgoat[botorch]"'
    torch = pytest.importorskip("torch", reason=reason)
    pytest.importorskip("botorch", reason=reason)
    from botorch.acquisition.multi_objective import ExpectedHypervolumeImprovement
    from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
    from botorch.utils.testing import MockModel, MockPosterior

    rng = np.random.default_rng(seed)
    front, reference = rng.normal(size=(int(rng.integers(1, 12)), 2)), [1.2, 0.9]
    mean, std = rng.normal(size=(2, 50)), np.exp(rng.normal(-0.7, 0.8, size=(2, 50)))
    # BoTorch maximises: everything changes its sign.
    corner, points = -torch.tensor(reference, dtype=torch.double), -torch.as_tensor(front)
    posterior = MockPosterior(
        mean=-torch.as_tensor(mean.T)[:, None, :], variance=torch.as_tensor(std.T**2)[:, None, :]
    )
    theirs = ExpectedHypervolumeImprovement(
        MockModel(posterior), corner, NondominatedPartitioning(corner, points)
    )
    expected = theirs(torch.zeros(50, 1, 1, dtype=torch.double)).numpy()
    found = np.exp(-improvement(front, reference).combine(mean, std))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_without_deviation_it_is_the_difference_of_two_volumes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    front, reference = rng.normal(size=(5, 2)), [0.9, 1.1]
    points = rng.normal(size=(20, 2))
    values = improvement(front, reference).join(points.T)
    before = volume(front, reference)
    gains = [volume(np.vstack([front, point]), reference) - before for point in points]
    assert np.exp(-values) == pytest.approx(gains, abs=1e-9)


def test_it_rises_with_means_and_falls_with_deviations() -> None:
    rng = np.random.default_rng(0)
    ehvi = improvement(rng.normal(size=(8, 2)), [1.0, 1.0])
    mean, std = 2 * rng.normal(size=(2, 2000)), np.exp(2 * rng.normal(size=(2, 2000)))
    values = ehvi.combine(mean, std)
    for i in range(2):
        step = np.zeros((2, 2000))
        step[i] = np.exp(2 * rng.normal(size=2000))
        assert (ehvi.combine(mean + step, std) >= values - 1e-9).all()
        assert (ehvi.combine(mean, std + step) <= values + 1e-9).all()


def test_far_in_the_tail_it_is_finite_and_still_ordered() -> None:
    ehvi = improvement(np.array([[0.0, 1.0], [1.0, 0.0]]), [2.0, 2.0])
    mean = np.array([[5.0, 50.0, 500.0, 5e5], [5.0, 50.0, 500.0, 5e5]])
    values = ehvi.combine(mean, np.full((2, 4), 0.1))
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()
    assert np.isfinite(ehvi.combine(mean, np.zeros((2, 4)))).all()


def test_sums_and_logarithms_of_sums_agree_where_both_hold() -> None:
    rng = np.random.default_rng(1)
    ehvi = improvement(rng.normal(size=(30, 2)), [1.0, 2.0])
    mean, std = rng.normal(size=(2, 500)), np.exp(rng.normal(size=(2, 500)))
    assert ehvi.combine(mean, std) == pytest.approx(
        -ehvi._log_volume(mean, std), rel=1e-9, abs=1e-9
    )


@pytest.mark.filterwarnings("error")
def test_ends_that_differ_by_rounding_leave_a_number_far_in_the_tail() -> None:
    ends = np.cumsum(np.full(40, 2e-16)) + 1.0
    ehvi = improvement(np.column_stack([ends, -np.arange(40.0)]), [2.0, 1.0])
    rng = np.random.default_rng(0)
    mean = np.stack([rng.normal(size=2000), rng.uniform(0.9, 9.0, 2000)])
    std = np.stack([rng.uniform(0.5, 2.0, 2000), np.full(2000, 0.03)])
    assert np.isfinite(ehvi.combine(mean, std)).all()


def test_points_that_are_dominated_or_beyond_the_reference_change_nothing() -> None:
    front = np.array([[0.0, 1.0], [1.0, 0.0]])
    more = np.vstack([front, front, [[0.5, 1.0], [3.0, -5.0], [-5.0, 2.0]]])
    one, other = improvement(front, [2.0, 2.0]), improvement(more, [2.0, 2.0])
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(2, 50)), np.exp(rng.normal(size=(2, 50)))
    assert np.array_equal(one.combine(mean, std), other.combine(mean, std))


@pytest.mark.parametrize("seed", range(5))
def test_a_front_is_what_brute_force_finds(seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 6, size=(15, 2)).astype(float)
    expected = {
        tuple(p)
        for p in points.tolist()
        if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points.tolist())
    }
    assert set(map(tuple, find_front(points).tolist())) == expected
    assert len(find_front(points)) == len(expected)
    assert find_front(np.zeros((0, 2))).shape == (0, 2)


def test_the_catalogue_finds_its_minimum_and_a_batch_covers_the_front() -> None:
    cost = KnownCost.of(SPACE, "2*a + b")
    ehvi = HypervolumeImprovement([PARTS[0], cost], [[0.0, 3.0]], [2.0, 7.0])
    scores = ehvi.score(list_graphs(SPACE))
    pool = Catalogue(SPACE).optimize(ehvi, 3)
    assert [p.lcb for p in pool] == pytest.approx(np.sort(scores)[:3].tolist())
    after = ehvi.assume_predicted([pool[0].graph])
    assert after.score([pool[0].graph])[0] > ehvi.score([pool[0].graph])[0] + 0.5
    assert ehvi.assume_predicted([]) is ehvi

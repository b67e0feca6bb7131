"""Catalogue, branch and bound and the MIP agree on functions of several objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import (
    EdgeLabeledSpace,
    LowerConfidenceBound,
    NodeLabeledSpace,
    ShortestPathKernel,
    darts,
    nasbench101,
)
from nasgoat.acquisition import (
    Catalogue,
    Chebyshev,
    Constrained,
    Cost,
    HypervolumeImprovement,
    KnownCost,
    LinearAcquisition,
    Pool,
    Status,
    choose,
    random_problem,
    relaxation,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.exponential import several_objectives
from nasgoat.acquisition.hypervolume import HypervolumeBound
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.acquisition.part_sums import BatchMemory, PartSum, cap_sum, count_cost
from nasgoat.acquisition.several_objectives import Part, SeveralAcquisition
from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap
from nasgoat.solvers import SolveLimits
from nasgoat.spaces import SearchSpace
from nasgoat.testing.contract import list_graphs
from tests.acquisition.branch import problems

AGREEMENT = 1e-9  # of values, relative and absolute: they are scored by the same surrogates


@pytest.fixture(params=["linear", "exponential", "exponential in turn"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both kernels; under the exponential one all labellings together, and part by part."""
    if request.param == "exponential in turn":
        monkeypatch.setattr(several_objectives, "FEW_TOGETHER", 0)
    return str(request.param.split()[0])


@dataclass(frozen=True)
class Problem:
    space: SearchSpace
    function: SeveralAcquisition
    k: int
    exclude: set[bytes]


def random_parts(space: SearchSpace, form: str, seed: int, rng: np.random.Generator) -> list[Part]:
    """Two or three objectives; those after the first may be known costs, or of another kernel."""
    t = int(rng.integers(1, 60))
    other = form if rng.random() < 0.8 else "linear"
    parts: list[Part] = []
    for j in range(2 if rng.random() < 0.8 else 3):
        if j and rng.random() < 0.3:
            op = (*space.node_ops, *space.edge_vocabulary)[0]
            parts.append(KnownCost.of(space, f"0.5*{op} + 0.3*edges"))
            continue
        kernel = form if j == 0 else other
        weights = np.exp(rng.uniform(-3, 3 if kernel == "linear" else 1, size=3)).tolist()
        gp = problems.fitted(space, ShortestPathKernel(kernel, *weights), t, 10 * seed + j)
        gp.graphs_ = problems.observed(space, t, 10 * seed + j)
        parts.append(LowerConfidenceBound(float(rng.choice([0.0, 1.0, 3.0])), gp))
    return parts


def several_problem(form: str, seed: int, largest: int) -> Problem:
    problem = problems.random_problem(form, seed, largest)
    rng, space = np.random.default_rng([seed, 7]), problem.space
    parts, graphs = random_parts(space, form, seed, rng), list_graphs(problem.space)
    values = np.stack([part.combine(*part.predict(graphs)) for part in parts])
    function: SeveralAcquisition
    if rng.random() < 0.5:
        weights = rng.dirichlet(np.ones(len(parts))) * (rng.random(len(parts)) < 0.9)
        weights[0] += 0.1
        reference = values.min(axis=1) + 0.3 * rng.normal(size=len(parts))
        function = Chebyshev(
            parts, weights.tolist(), reference.tolist(), float(rng.choice([0.0, 0.05, 0.5]))
        )
    else:
        limits = [float(np.quantile(v, rng.choice([0.0, 0.01, 0.1, 0.5]))) for v in values[1:]]
        function = Constrained(parts, [c - float(rng.choice([0, 0, 1e-3, 10])) for c in limits])
    return Problem(space, function, problem.k, problem.exclude)


def assert_same(found: Pool, expected: Pool, agreement: float = AGREEMENT) -> None:
    assert found.certificate.status is expected.certificate.status
    assert all(proposal.certificate.certified for proposal in found)
    values = [[proposal.lcb for proposal in pool] for pool in (found, expected)]
    assert values[0] == pytest.approx(values[1], rel=agreement, abs=agreement)


def compare(form: str, seed: int, largest: int) -> None:
    problem = several_problem(form, seed, largest)
    asked = (problem.function, problem.k, problem.exclude)
    expected = Catalogue(problem.space, None).optimize(*asked)
    assert_same(BranchAndBound(problem.space, None).optimize(*asked), expected)


@pytest.mark.parametrize("seed", range(12))
def test_branch_and_bound_agrees_with_the_catalogue(form: str, seed: int) -> None:
    compare(form, seed, largest=4)


@pytest.mark.slow  # 2 minutes
def test_they_agree_on_a_hundred_problems(form: str) -> None:
    for seed in range(1000, 1100):
        compare(form, seed, largest=5)


def compare_mip(form: str, seed: int, child: bool = False) -> None:
    problem = several_problem(form, seed, 4)
    asked = (problem.function, min(problem.k, 3), problem.exclude)
    expected = Catalogue(problem.space, None).optimize(*asked)
    found = MipOptimizer(problem.space, child=child, independent=True).optimize(*asked)
    assert_same(found, expected, 2 * SolveLimits().gap)


def improvement_problem(form: str, seed: int, largest: int) -> Problem:
    """Two objectives, or one and a known cost, over a front of some graphs."""
    problem = problems.random_problem(form, seed, largest)
    rng, space = np.random.default_rng([seed, 11]), problem.space
    parts, graphs = random_parts(space, form, seed, rng)[:2], list_graphs(space)
    means = np.column_stack([part.predict(graphs)[0] for part in parts])
    front = means[rng.choice(len(means), int(rng.integers(0, 8)))]
    reference = np.quantile(means, float(rng.choice([0.1, 0.5, 1.0])), axis=0) + 0.1
    function = HypervolumeImprovement(parts, front, reference.tolist())
    return Problem(space, function, problem.k, problem.exclude)


def compare_improvement(form: str, seed: int, largest: int) -> None:
    problem = improvement_problem(form, seed, largest)
    asked = (problem.function, problem.k, problem.exclude)
    expected = Catalogue(problem.space, None).optimize(*asked)
    assert_same(BranchAndBound(problem.space, None).optimize(*asked), expected)


@pytest.mark.parametrize("seed", range(10))
def test_the_largest_gain_of_hypervolume_is_that_of_the_catalogue(form: str, seed: int) -> None:
    compare_improvement(form, seed, largest=4)


@pytest.mark.parametrize("seed", range(10))
def test_pieces_find_what_one_sum_finds(
    form: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if even a few graphs were too many for one sum, for every function."""
    monkeypatch.setattr(relaxation, "_MANY", 3)
    compare_improvement(form, seed, largest=4)
    compare(form, seed, largest=4)


@pytest.mark.slow  # 4 minutes
@pytest.mark.parametrize("many", [3, relaxation._MANY])
def test_gains_of_hypervolume_agree_on_a_hundred_problems(
    form: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaxation, "_MANY", many)
    for seed in range(1000, 1100):
        compare_improvement(form, seed, largest=5)


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_under_the_linear_kernel_is_that_of_the_catalogue(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = NodeLabeledSpace((3, 6), ["a", "b", "c"], max_edges=7)
    parts = [random_problem(space, 40, seed=2 * seed + i).acquisition for i in range(2)]
    graphs = parts[0].gp.graphs_
    observed = np.column_stack([part.predict(graphs)[0] for part in parts])
    function = HypervolumeImprovement(parts, observed, (observed.max(axis=0) + 0.1).tolist())
    search, catalogue = BranchAndBound(space, None), Catalogue(space, None)
    minimised, taken = list[str](), {space.key(graph) for graph in graphs}
    minimize = BranchAndBound._minimize

    def note(self: BranchAndBound, what: LinearAcquisition, *rest: Any) -> Pool:
        minimised.append(type(what).__name__)
        return minimize(self, what, *rest)

    monkeypatch.setattr(BranchAndBound, "_minimize", note)
    for _ in range(5):
        (found,), (expected,) = (each.optimize(function, 1, taken) for each in (search, catalogue))
        assert found.certificate.certified
        assert found.lcb == pytest.approx(expected.lcb, rel=AGREEMENT, abs=AGREEMENT)
        taken.add(space.key(found.graph))
        function = function.assume_predicted([found.graph])
    assert minimised.count("LargestDeviation") == 2  # once for each objective


def test_a_minimum_holds_where_as_much_is_excluded() -> None:
    space = NodeLabeledSpace((3, 5), ["a", "b"])
    part = random_problem(space, 10, seed=1).acquisition
    memory, keys = BatchMemory(), [space.key(graph) for graph in part.gp.graphs_]
    pool = Catalogue(space, None).optimize(part, 1, keys)
    assert memory.recall(part, keys) is None
    memory.keep(part, keys, pool)
    believing = part.assume_predicted([pool[0].graph])
    known = memory.recall(believing, [*keys, b"another"])
    assert known is not None
    assert known.bound <= min(believing.score(known.graphs))
    assert memory.recall(believing, keys[1:]) is None
    assert memory.recall(LowerConfidenceBound(9.0, part.gp), keys) is None


def test_the_mip_finds_the_largest_gain_of_hypervolume() -> None:
    space = NodeLabeledSpace((3, 4), ["a", "b"], max_edges=5)
    parts = [random_problem(space, 6, seed=seed).acquisition for seed in (0, 1)]
    function = HypervolumeImprovement(parts, [[0.0, 0.5], [0.5, 0.0]], [2.0, 2.0])
    found = MipOptimizer(space, child=False, independent=True).optimize(function, 2)
    assert_same(found, Catalogue(space, None).optimize(function, 2), 2 * SolveLimits().gap)


@pytest.mark.parametrize("seed", range(6))
def test_what_bounds_a_gain_of_hypervolume_is_never_above_it(seed: int) -> None:
    problem = improvement_problem("linear", seed, 5)
    function, graphs = problem.function, list_graphs(problem.space)
    widest = [float(part.predict(graphs)[1].max()) for part in function.parts]
    left = iter([w for w, p in zip(widest, function.parts, strict=True) if p in function.modelled])
    bound = function.relax(lambda part: next(left))
    values = np.stack([part.combine(*part.predict(graphs)) for part in bound.parts])
    exact, below = function.score(graphs), bound.join(values)
    assert (below <= exact + 1e-9 * (1 + np.abs(exact))).all()
    floor, level = values.min(axis=1), float(np.quantile(exact, 0.3))
    pieces = bound.split(level, floor)
    for weights in bound.list_sums([0, 1], np.ptp(values, axis=1) + 1e-9):
        sums, better = weights @ values, exact < level
        assert (sums[better] <= bound.cap_sum(weights, level, floor) + 1e-9).all()
        # Each piece by itself, for the graphs whose first value is in it.
        for piece in pieces:
            low, high = getattr(piece, "within", (-np.inf, np.inf))
            own = better & (values[0] >= low) & (values[0] < high)
            assert (sums[own] <= piece.cap_sum(weights, level, floor) + 1e-9).all()


def test_pieces_of_a_gain_of_hypervolume_are_all_of_it_and_narrower() -> None:
    function = HypervolumeImprovement(
        [random_problem(darts(), 5, seed=seed).acquisition for seed in (0, 1)],
        [[0.0, 1.0], [0.2, 0.2], [1.0, 0.0]],
        [2.0, 2.0],
    )
    bound, floor = function.relax(lambda part: 0.1), np.array([-1.0, -1.0])
    pieces = bound.split(2.0, floor)
    ends = [piece.within for piece in pieces if isinstance(piece, HypervolumeBound)]
    assert len(ends) == len(pieces) > 4
    assert ends[0][0] == -np.inf and ends[-1][1] == np.inf
    assert all(a[1] == b[0] for a, b in pairwise(ends))
    both = np.array([1.0, 1.0])
    whole = bound.cap_sum(both, 2.0, floor)
    assert min(piece.cap_sum(both, 2.0, floor) for piece in pieces) < whole - 0.5


@pytest.mark.parametrize("seed", [1, 3, 13])  # limits that contradict, limits, a maximum
def test_the_mip_agrees_with_the_catalogue(seed: int) -> None:
    compare_mip("linear", seed)


@pytest.mark.slow  # 4 minutes
def test_the_mip_agrees_on_a_hundred_problems() -> None:
    for seed in range(1000, 1100):
        compare_mip("linear", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 10])
def test_the_mip_works_in_a_process_of_its_own(seed: int) -> None:
    compare_mip("linear", seed, child=True)


@pytest.mark.slow
def test_the_mip_agrees_under_the_exponential_kernel() -> None:
    for seed in range(10):
        compare_mip("exponential", seed)


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_a_time_limit_leaves_a_valid_bound_and_a_full_pool(form: str, seconds: float) -> None:
    space = NodeLabeledSpace((3, 5), ["a", "b", "c"], max_edges=7)
    parts = [random_problem(space, 30, form, seed=seed).acquisition for seed in (0, 1)]
    values = np.stack([part.score(list_graphs(space)) for part in parts])
    chebyshev = Chebyshev(parts, [0.6, 0.4], values.min(axis=1))
    limited = Constrained(parts, [float(np.quantile(values[1], 0.3))])
    bounded = 0
    for function in (chebyshev, limited):
        best = np.sort(function.score(list_graphs(space)))
        pool = BranchAndBound(space, None, time_limit=seconds).optimize(function, 4)
        assert len(pool) == 4
        for i, proposal in enumerate(pool):
            assert proposal.lcb is not None
            assert proposal.lcb >= best[i] - AGREEMENT
            bound = proposal.certificate.bound
            if bound is not None:
                bounded += 1
                assert bound <= best[i] + AGREEMENT
            if proposal.certificate.certified:
                assert proposal.lcb == pytest.approx(best[i], abs=AGREEMENT)
    if form == "linear":  # there a bound is known at once
        assert bounded == 8


def test_every_graph_is_looked_at_while_there_are_fewer_than_k() -> None:
    space = NodeLabeledSpace((3, 5), ["a", "b"], max_edges=6)
    parts: list[Part] = [random_problem(space, 9, seed=seed).acquisition for seed in (0, 1)]
    floor = np.full(2, -10.0)
    for function in (Constrained(parts, [0.0]), Chebyshev(parts, [0.6, 0.4], [0.0, 0.0])):
        assert cap_sum(function, np.array([0.5, 0.5]), np.inf, floor) == np.inf
        assert not np.isnan(cap_sum(function, np.array([0.0, 1.0]), np.inf, floor))


def test_limits_that_contradict_leave_nothing() -> None:
    space = NodeLabeledSpace((3, 5), ["a", "b"], max_edges=6)
    parts: list[Part] = [random_problem(space, 9, seed=seed).acquisition for seed in (0, 1)]
    for function in (
        Constrained(parts, [-1e6]),
        Constrained([*parts, KnownCost.of(space, "edges")], [1e6, 0.5]),
        Constrained([parts[0], parts[1], parts[0]], [-1e6, -1e6]),
    ):
        pool = BranchAndBound(space, None).optimize(function, 3)
        assert len(pool) == 0
        assert pool.certificate.status is Status.EXHAUSTED


def test_a_limit_without_end_is_no_limit() -> None:
    space = EdgeLabeledSpace(3, ["a", "b"])
    first, second = (random_problem(space, 6, seed=seed).acquisition for seed in (0, 1))
    cost = KnownCost.of(space, "edges")
    found = BranchAndBound(space, None).optimize(
        Constrained([first, second, cost], [np.inf, np.inf]), 3
    )
    assert_same(found, Catalogue(space).optimize(first, 3))


def test_equal_objectives_and_constant_ones_are_no_trouble() -> None:
    space = NodeLabeledSpace((3, 5), ["a", "b"], max_edges=6)
    part = random_problem(space, 9).acquisition
    flat = LowerConfidenceBound(0.0, part.gp)
    for function in (
        Chebyshev([part, part], [1.0, 1.0], [0.0, 0.0]),
        Chebyshev([part, flat], [1.0, 0.0], [0.0, 0.0]),
        Constrained([part, part], [0.0]),
    ):
        assert_same(
            BranchAndBound(space, None).optimize(function, 4),
            Catalogue(space).optimize(function, 4),
        )


@dataclass(frozen=True, eq=False)
class Product(SeveralAcquisition):
    """A function of one's own: all that is known is that it does not fall."""

    parts: Sequence[Part]

    def join(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.logaddexp(values[0], 0.0) * np.logaddexp(values[1], 0.0))


def test_a_function_of_ones_own_is_exact_too(form: str) -> None:
    space = NodeLabeledSpace((3, 5), ["a", "b"], max_edges=6)
    function = Product([random_problem(space, 9, form, seed=seed).acquisition for seed in (0, 1)])
    assert_same(
        BranchAndBound(space, None).optimize(function, 4), Catalogue(space).optimize(function, 4)
    )


def test_what_bounds_do_not_bound_is_refused() -> None:
    class Unbounded(Product):
        @classmethod
        def explain_unbounded(cls, kernel: str) -> str:
            return "it has no bounds"

    space = NodeLabeledSpace((3, 5), ["a", "b"], max_edges=6)
    parts = [random_problem(space, 9, seed=seed).acquisition for seed in (0, 1)]
    with pytest.raises(SettingError, match="bound the acquisition, got Unbounded: it has no"):
        BranchAndBound(space, None).optimize(Unbounded(parts))
    assert isinstance(choose(darts(), acquisition="hypervolume").forecasts["branch"], Cost)


def test_objectives_that_are_searched_together_are_forecast_to_be_quick() -> None:
    def forecast(space: SearchSpace, acquisition: str, optimizer: str = "branch") -> float:
        cost = choose(space, "exponential", 5, acquisition=acquisition).forecasts[optimizer]
        assert isinstance(cost, Cost)
        return cost.seconds

    few, many = nasbench101(), NodeLabeledSpace((3, 9), ["a", "b", "c"], max_edges=10)
    for name in ("hypervolume", "chebyshev", "epsilon"):
        assert forecast(few, name) == 2 * forecast(few, "lcb")
        assert forecast(many, name) > 2 * forecast(many, "lcb")
        assert forecast(few, name, "scip") > 2 * forecast(few, "lcb", "scip")


@pytest.mark.parametrize(
    "space",
    [
        NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6),
        EdgeLabeledSpace(4, ["a", "b"], connected=False),
    ],
)
def test_a_known_cost_is_a_sum_over_counts(space: SearchSpace) -> None:
    costs = {"t": {"a": 2.5, "b": 0.125}}
    text = "sum(t) + 3*edges - 0.5*depth + 4*nodes - 7"
    cost, features = KnownCost.of(space, text, costs), FeatureMap(space)
    for n in space.sizes:
        graphs = [graph for graph in list_graphs(space) if graph.n == n]
        counted = features.counts(space.batch(graphs)) @ count_cost(cost, features, n)
        assert counted == pytest.approx(cost.predict(graphs)[0], abs=1e-9)


def test_a_sum_of_parts_is_bounded_and_sharp_where_shares_fit() -> None:
    space = NodeLabeledSpace((3, 5), ["a", "b"], max_edges=6)
    graphs = list_graphs(space)
    parts: list[Part] = [random_problem(space, 9, seed=seed).acquisition for seed in (0, 1)]
    parts.append(KnownCost.of(space, "a + edges"))
    weights = np.array([0.7, 1.3, 0.2])
    exact = weights @ np.stack([part.combine(*part.predict(graphs)) for part in parts])
    for graph, value in zip(graphs[::50], exact[::50].tolist(), strict=True):
        shares = [
            *(w * p.predict([graph])[1][0] for w, p in zip(weights, parts[:2], strict=False)),
            0.0,
        ]
        total = PartSum(parts, weights, random_problem(space, 9).acquisition.gp, shares)
        assert (total.score(graphs) <= exact + AGREEMENT).all()
        assert total.score([graph])[0] == pytest.approx(value, abs=AGREEMENT)

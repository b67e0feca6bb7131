"""Several sources under one process: against scikit-learn, finite differences and brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Kernel

from nasgoat import EdgeLabeledSpace, GraphGP, NodeLabeledSpace, ShortestPathKernel, nasbench201
from nasgoat.acquisition import LowerConfidenceBound, make_optimizer
from nasgoat.errors import ObservationError, SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FORMS
from nasgoat.surrogate import Source, SourcedGP, TargetScale
from nasgoat.surrogate.coregionalisation import Coregionalisation, SourceLikelihood
from nasgoat.surrogate.likelihood import make_likelihood
from nasgoat.surrogate.model_check import log_density
from nasgoat.surrogate.target import match_scale

RNG = np.random.default_rng(0)
ROWS, TARGETS = RNG.random((11, 5)), RNG.standard_normal(11)
SHARE = RNG.choice([1.0, 0.5], 11)
SPACE = nasbench201()
CELLS = SPACE.sample(60, np.random.default_rng(1))


def truth(cell: LabeledGraph) -> float:
    """An error that depends on the labels of a cell."""
    digits = SPACE.digits(cell)
    return 10.0 + float(digits @ [3.0, 1.0, -2.0, 0.5, 1.0, 2.0]) + 0.1 * float(digits[0] ** 2)


ERRORS: Any = np.array([truth(cell) for cell in CELLS])


class ProductKernel(Kernel):  # type: ignore[misc]
    """B[s, s'] k(x, x') on rows whose last entry is the source, for scikit-learn's regressor."""

    def __init__(self, kernel: Kernel, B: Any) -> None:
        self.kernel, self.B = kernel, B

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        Y = X if Y is None else Y
        s, u = X[:, -1].astype(int), Y[:, -1].astype(int)
        return self.B[np.ix_(s, u)] * self.kernel(X[:, :-1], Y[:, :-1])

    def diag(self, X: Any) -> Any:
        s = X[:, -1].astype(int)
        return self.B[s, s] * self.kernel.diag(X[:, :-1])

    def is_stationary(self) -> bool:
        return False


def likelihood(sources: int, noise: float | None, form: str = "exponential") -> SourceLikelihood:
    kernel = ShortestPathKernel(form, widths=(3, 2, 0))
    plain = make_likelihood(kernel, ROWS, TARGETS, SHARE, 1e-10, 1.0)
    return SourceLikelihood(plain, np.arange(11) % sources, sources, noise)


@pytest.mark.parametrize("noise", [None, 0.03])
@pytest.mark.parametrize("sources", [2, 3, 4])
class TestLikelihood:
    def test_gradient_equals_finite_differences(self, sources: int, noise: float | None) -> None:
        function = likelihood(sources, noise)
        theta = RNG.standard_normal(len(function._centre)) / 2
        for part in (function, function.weigh):
            gradient = part(theta)[1]
            for i, expected in enumerate(gradient):
                shift = 1e-6 * np.eye(len(theta))[i]
                slope = (part(theta + shift)[0] - part(theta - shift)[0]) / 2e-6
                assert slope == pytest.approx(expected, rel=1e-5, abs=1e-6)

    def test_value_is_that_of_the_normal_distribution(
        self, sources: int, noise: float | None
    ) -> None:
        function = likelihood(sources, noise)
        theta = RNG.standard_normal(len(function._centre)) / 2
        log_kernel, mixing, variances = function.read(theta)
        kernel, places = function.plain.kernel.clone_with_theta(log_kernel), function.places
        C = mixing.matrix[np.ix_(places, places)] * kernel(ROWS)
        C += np.diag(variances[places] * SHARE + 1e-10)
        expected = multivariate_normal(np.zeros(11), C).logpdf(TARGETS)
        assert function(theta)[0] == pytest.approx(expected, rel=1e-9)

    def test_b_is_positive_semidefinite_wherever_the_search_goes(
        self, sources: int, noise: float | None
    ) -> None:
        function = likelihood(sources, noise)
        low, high = function._list_bounds().T
        for theta in [low, high, *RNG.uniform(low, high, size=(50, len(low)))]:
            B = function.read(theta)[1].matrix
            assert np.linalg.eigvalsh(B).min() > -1e-12 * B.max()  # rounding
            assert B[0, 0] == 1.0


@pytest.fixture(scope="module", params=[*FORMS, "rbf"])
def fitted(request: pytest.FixtureRequest) -> SourcedGP:
    """A process of three sources with 8, 20 and 30 graphs."""
    kernel: Any = RBF(2.0) if request.param == "rbf" else request.param
    others = [
        Source("short", CELLS[:30], ERRORS[:30] + RNG.standard_normal(30)),
        Source("other", CELLS[20:40], 0.2 * ERRORS[20:40]),
    ]
    return SourcedGP(SPACE, kernel).fit(CELLS[:8], ERRORS[:8], others)


def explicit(gp: SourcedGP) -> tuple[GaussianProcessRegressor, Any]:
    """Scikit-learn's own process on (row, source), and a function that adds a source to rows."""
    rows, targets, noise = gp._joint

    def of(rows: Any, source: Any) -> Any:
        return np.column_stack([rows, np.broadcast_to(source, len(rows))])

    product = ProductKernel(gp.gpr_.kernel_, gp.mixing_.matrix)
    own = GaussianProcessRegressor(product, alpha=noise, optimizer=None)
    return own.fit(of(rows, gp._places), targets), of


class TestAgainstScikitLearn:
    def test_the_posterior_of_the_target_is_that_of_the_product_kernel(
        self, fitted: SourcedGP
    ) -> None:
        own, of = explicit(fitted)
        rows = fitted.features.rows(CELLS)
        mean, std = fitted.predict(CELLS)
        expected = own.predict(of(rows, 0), return_std=True)
        assert mean == pytest.approx(expected[0], abs=1e-6)
        assert std == pytest.approx(expected[1], abs=1e-4)  # the root of a small difference

    def test_the_regressor_that_is_shown_says_the_same(self, fitted: SourcedGP) -> None:
        rows = fitted.features.rows(CELLS)
        mean, _ = fitted.gpr_.predict(rows, return_std=True)
        assert mean == pytest.approx(fitted.predict(CELLS)[0], abs=1e-6)

    @pytest.mark.parametrize("source", ["target", "short", "other"])
    def test_a_believed_observation_is_one_at_its_mean(
        self, fitted: SourcedGP, source: str
    ) -> None:
        own, of = explicit(fitted)
        place, new = fitted._find(source), CELLS[50:53]
        rows = fitted.features.rows(new)
        believed = fitted.assume_predicted(new, source)
        means = own.predict(of(rows, place))
        noise = np.append(own.alpha, np.full(3, fitted.noises_[place] + fitted.jitter_))
        again = GaussianProcessRegressor(own.kernel_, alpha=noise, optimizer=None).fit(
            np.concatenate([own.X_train_, of(rows, place)]),
            np.concatenate([own.y_train_, means]),
        )
        expected = again.predict(of(fitted.features.rows(CELLS), 0), return_std=True)
        mean, std = believed.predict(CELLS)
        assert mean == pytest.approx(expected[0], abs=1e-6)
        assert std == pytest.approx(expected[1], abs=1e-4)  # the root of a small difference

    def test_each_left_out_observation_is_predicted_from_all_others(
        self, fitted: SourcedGP
    ) -> None:
        own, _ = explicit(fitted)
        densities = []
        for i in range(8):
            kept = np.arange(len(own.y_train_)) != i
            rest = GaussianProcessRegressor(own.kernel_, alpha=own.alpha[kept], optimizer=None)
            rest.fit(own.X_train_[kept], own.y_train_[kept])
            mean, std = rest.predict(own.X_train_[[i]], return_std=True)
            sd = np.sqrt(std**2 + own.alpha[i])
            densities.append(norm.logpdf(own.y_train_[i], mean, sd).item())
        everything = np.ones(len(own.y_train_), dtype=bool)
        assert log_density(*fitted._invert(everything)) == pytest.approx(np.mean(densities), 1e-4)

    def test_the_sources_are_worth_something(self, fitted: SourcedGP) -> None:
        for worth in fitted.worth[1:]:
            assert worth.correlation > 0.5
            assert worth.contribution is not None
        assert sum(w.contribution or 0.0 for w in fitted.worth) > 0.1


@pytest.mark.parametrize("form", FORMS)
def test_draws_have_the_mean_and_covariance_of_the_posterior(form: str) -> None:
    short = Source("short", CELLS[:12], ERRORS[:12])
    gp = SourcedGP(SPACE, form, noise=0.05).fit(CELLS[8:14], ERRORS[8:14], [short])
    some = [CELLS[0], CELLS[9], CELLS[30], CELLS[31]]
    rows = gp.features.rows(some)
    draws = np.array(
        [gp.draw(np.random.default_rng(seed)).mean_std(rows)[0] for seed in range(400)]
    )
    mean, std = gp.predict(some)
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.2)  # four standard errors
    assert draws.std(axis=0) == pytest.approx(std, rel=0.2, abs=0.02)


class TestOneSource:
    @pytest.mark.parametrize("form", FORMS)
    def test_it_is_the_plain_process_bit_by_bit(self, form: str) -> None:
        plain = GraphGP(SPACE, form).fit(CELLS[:30], ERRORS[:30])
        alone = SourcedGP(SPACE, form).fit(CELLS[:30], ERRORS[:30])
        for mine, theirs in zip(alone.predict(CELLS), plain.predict(CELLS), strict=True):
            assert (mine == theirs).all()
        assert alone.hyperparameters == plain.hyperparameters
        assert alone.check_ == plain.check_
        believed = alone.assume_predicted(CELLS[40:42]).predict(CELLS)
        for mine, theirs in zip(
            believed, plain.assume_predicted(CELLS[40:42]).predict(CELLS), strict=True
        ):
            assert (mine == theirs).all()
        assert [worth.name for worth in alone.worth] == ["target"]


class TestMisleading:
    def test_a_shuffled_source_is_ignored(self) -> None:
        shuffled = np.random.default_rng(2).permutation(ERRORS).tolist()
        honest, misled = (
            SourcedGP(SPACE, "exponential").fit(
                CELLS[:25], ERRORS[:25], [Source("other", CELLS, errors)]
            )
            for errors in (ERRORS, shuffled)
        )
        assert honest.worth[1].correlation > 0.9
        assert misled.worth[1].correlation < 0.6
        gained = [model.worth[1].contribution for model in (honest, misled)]
        assert gained[0] is not None and gained[1] is not None
        assert gained[0] > 0.5
        assert gained[1] < 0.05
        alone = GraphGP(SPACE, "exponential").fit(CELLS[:25], ERRORS[:25])
        ahead = [
            np.corrcoef(gp.predict(CELLS[25:])[0], ERRORS[25:])[0, 1]
            for gp in (honest, misled, alone)
        ]
        assert ahead[0] > ahead[2]
        assert ahead[1] > ahead[2] - 0.1

    def test_it_is_left_out_where_predictions_are_worse_with_it(self) -> None:
        shuffled = np.random.default_rng(2).permutation(ERRORS).tolist()
        gp = SourcedGP(SPACE, "exponential")
        misled = gp.fit_if_better(CELLS[:25], ERRORS[:25], [Source("other", CELLS, shuffled)])
        plain = GraphGP(SPACE, "exponential").fit(CELLS[:25], ERRORS[:25])
        assert (misled.predict(CELLS)[0] == plain.predict(CELLS)[0]).all()
        assert misled.hyperparameters["correlation other"] == 0.0
        helped = gp.fit_if_better(CELLS[:25], ERRORS[:25], [Source("other", CELLS, ERRORS)])
        assert helped.worth[1].correlation > 0.9


class TestScales:
    def test_a_selection_keeps_the_quantiles_of_the_whole(self) -> None:
        order = np.argsort(ERRORS)[:6]
        best = [CELLS[i] for i in order]
        short = Source("short", CELLS, ERRORS)
        gp = SourcedGP(SPACE).fit(best, ERRORS[order] / 2, [short])
        whole = TargetScale.of(ERRORS, "rank").to_target(ERRORS[order])
        assert gp.targets_ == pytest.approx(whole)

    def test_a_source_with_other_graphs_has_its_own_ranks(self) -> None:
        short = Source("short", CELLS[10:], ERRORS[10:])
        gp = SourcedGP(SPACE).fit(CELLS[:10], ERRORS[:10], [short])
        assert gp.targets_ == pytest.approx(TargetScale.of(ERRORS[:10]).to_target(ERRORS[:10]))

    @pytest.mark.parametrize("kind", ["log", "plain"])
    def test_other_targets_are_matched_by_mean_and_deviation(self, kind: str) -> None:
        errors, shared = np.array([5.0, 7.0, 6.0, 9.0]), np.array([-2.0, -1.0, -1.8, -0.5])
        scale = match_scale(TargetScale.of(errors, kind), errors, shared)
        z = scale.to_target(errors)
        assert (z.mean(), z.std()) == pytest.approx((shared.mean(), shared.std()))
        assert scale.to_error(z) == pytest.approx(errors)

    def test_one_observation_is_put_where_it_looked(self) -> None:
        errors = np.array([5.0])
        scale = match_scale(TargetScale.of(errors, "log"), errors, np.array([-1.5]))
        assert scale.to_target(errors) == pytest.approx([-1.5])


def make_problem(number: int) -> tuple[Any, LowerConfidenceBound, set[bytes], int]:
    """A random acquisition problem with one to three further sources."""
    rng = np.random.default_rng([number, 60])
    spaces = [
        EdgeLabeledSpace(nodes=3, ops=["a", "b", "c"]),
        NodeLabeledSpace(nodes=(3, 4), max_edges=5, ops=["a", "b"]),
        EdgeLabeledSpace(nodes=4, ops=["a", "b"]),
    ]
    space = spaces[number % 3]
    graphs = space.sample(24, rng)
    errors = rng.random(len(graphs)) + [0.3 * len(g.edges) for g in graphs]
    others = []
    for i in range(int(rng.integers(1, 4))):
        some = rng.choice(len(graphs), size=int(rng.integers(3, 9)), replace=False)
        noisy = errors[some] + 0.3 * rng.standard_normal(len(some))
        others.append(Source(f"source {i}", [graphs[j] for j in some], noisy.tolist()))
    kernel = ("linear", "exponential")[number // 3 % 2]
    gp = SourcedGP(space, kernel, noise=1e-2).fit(graphs[:6], errors[:6].tolist(), others)
    if number % 4 == 0:
        gp = gp.assume_predicted(graphs[10:12], others[0].name)
    exclude = {space.key(graph) for graph in graphs[:6]}
    return space, LowerConfidenceBound(float(rng.choice([0.5, 3.0])), gp), exclude, 1 + number % 3


def compare(number: int, optimizers: list[str]) -> None:
    space, acquisition, exclude, k = make_problem(number)
    pool = make_optimizer("catalogue", space).optimize(acquisition, k, exclude)
    for name in optimizers:
        other = make_optimizer(name, space).optimize(acquisition, k, exclude)
        assert other.certificate.certified
        assert [p.lcb for p in other] == pytest.approx([p.lcb for p in pool], abs=1e-5)


class TestEveryExactOptimizer:
    @pytest.mark.parametrize("number", range(60))
    def test_branch_and_bound_agrees_with_the_catalogue(self, number: int) -> None:
        compare(number, ["branch"])

    @pytest.mark.parametrize("number", [3])
    def test_the_program_agrees_with_the_catalogue(self, number: int) -> None:
        compare(number, ["scip"])

    @pytest.mark.slow
    @pytest.mark.parametrize("number", range(60))
    def test_the_program_agrees_on_sixty_problems(self, number: int) -> None:
        compare(number, ["scip"])


class TestBadInput:
    def test_two_sources_of_one_name_are_refused(self) -> None:
        with pytest.raises(SettingError, match="names of their own, got target, target"):
            SourcedGP(SPACE).fit(CELLS[:5], ERRORS[:5], [Source("target", CELLS, ERRORS)])

    def test_an_unknown_source_is_refused(self) -> None:
        gp = SourcedGP(SPACE).fit(CELLS[:5], ERRORS[:5], [Source("short", CELLS, ERRORS)])
        with pytest.raises(SettingError, match="one of target, short, got 'long'"):
            gp.foresee(CELLS[:1], "long")

    @pytest.mark.parametrize("errors", [[1.0], [1.0, np.nan]])
    def test_a_source_must_have_an_error_for_each_graph(self, errors: list[float]) -> None:
        with pytest.raises(ObservationError):
            Source("short", CELLS[:2], errors)


def test_correlations_are_those_of_b() -> None:
    mixing = Coregionalisation(np.array([1.0, 2.0, 0.5]), np.array([0.9, 0.8, 0.3]))
    sd = np.sqrt(np.diag(mixing.matrix))
    expected = (mixing.matrix / np.outer(sd, sd))[0]
    assert mixing.correlations == pytest.approx(expected)

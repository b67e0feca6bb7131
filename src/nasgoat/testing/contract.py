"""What all suites share, and what every kernel promises.

Each test runs once for every subject that the inheriting class names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import signature
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph, NamedGraphs
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP

_STEP = 1e-6  # central differences: the error is of the order step² ~ 1e-12, over 2e-6
_LISTINGS: dict[str, tuple[LabeledGraph, ...]] = {}


class Contract:
    """Base of the suites.

    A test method takes subjects as arguments, such as ``space`` or ``seed``. Their values are
    attributes of the class: ``spaces``, a mapping from names to spaces, or ``space`` for a single
    one. Every test runs for every combination of the subjects that it takes.
    """

    #: For each argument of a test method, the attribute with its values by name.
    subjects: ClassVar[Mapping[str, str]] = {
        name: f"{name}s" for name in ("space", "seed", "kernel", "method", "benchmark")
    }
    #: Seeds of the tests that draw at random.
    seeds: ClassVar[Sequence[int]] = range(2)
    #: Names of values whose tests are marked ``slow``.
    slow: ClassVar[Collection[str]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Let pytest run each test for each value of the subjects that it takes."""
        for argument in self.subjects:
            if argument in metafunc.fixturenames:
                values = [
                    pytest.param(
                        value, id=name, marks=[pytest.mark.slow] if name in self.slow else []
                    )
                    for name, value in self._values(argument).items()
                ]
                metafunc.parametrize(argument, values)

    @classmethod
    def verify(cls, **chosen: Any) -> list[str]:
        """Run every test of the suite without pytest's runner, for a prompt or a property test.

        Args:
            chosen: Subjects that replace those of the class, by the argument's name.

        Returns:
            Names of the tests that ran; those that do not apply to the subjects are left out.

        Raises:
            AssertionError: If the contract is broken.
        """
        suite, ran = cls(), []
        for name in sorted(name for name in dir(cls) if name.startswith("test_")):
            test = getattr(suite, name)
            arguments = list(signature(test).parameters)
            values = [
                [chosen[argument]] if argument in chosen else suite._values(argument).values()
                for argument in arguments
            ]
            for combination in product(*values):
                try:
                    test(*combination)
                except pytest.skip.Exception:
                    continue
                except pytest.fail.Exception as failed:  # an error that was not raised
                    raise AssertionError(str(failed)) from failed
                ran.append(name)
        return list(dict.fromkeys(ran))

    def _values(self, argument: str) -> Mapping[str, Any]:
        several = self.subjects[argument]
        if hasattr(self, argument):
            return {argument: getattr(self, argument)}
        found = getattr(self, several, None)
        if not found:
            raise SettingError(
                f"{type(self).__name__} must name what it tests, got nothing; "
                f"set the attribute {argument} or {several}"
            )
        return found if isinstance(found, Mapping) else {str(value): value for value in found}


def list_graphs(space: SearchSpace) -> tuple[LabeledGraph, ...]:
    """Every graph of a space; listed once in a test run."""
    name = space.fingerprint()
    if name not in _LISTINGS:
        _LISTINGS[name] = tuple(graph for batch in space.enumerate() for graph in batch)
    return _LISTINGS[name]


def count_word(graph: LabeledGraph, word: str) -> int:
    """What a limit counts: nodes, edges, or how often a label occurs; in all cells together."""
    if isinstance(graph, NamedGraphs):
        return sum(count_word(cell, word) for cell in graph)
    if word == "nodes":
        return graph.n
    if word == "edges":
        return len(graph.edges)
    labels = [*(graph.node_labels or ()), *(graph.edge_labels or {}).values()]
    return labels.count(word)


def reorder(space: SearchSpace, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
    """The graph with its nodes in a random order, in every cell that does not tell them apart."""
    if isinstance(graph, NamedGraphs):
        cells = space.cells.items()
        return NamedGraphs({name: reorder(cell, graph[name], rng) for name, cell in cells})
    return graph if space.indexed else graph.relabeled(rng.permutation(graph.n).tolist())


def list_node_labels(space: SearchSpace, n: int) -> list[tuple[str, ...]]:
    """For each of n nodes the labels that it may have; one empty label where nodes have none."""
    if space.layout == "cell" and space.node_vocabulary:
        first, *inner, last = space.node_vocabulary
        return [(first,), *[tuple(inner)] * (n - 2), (last,)]
    return [space.node_vocabulary or ("",)] * n


def label_graphs(
    space: SearchSpace, n: int, pairs: Sequence[tuple[int, int]], edges: Sequence[str | None]
) -> Iterator[LabeledGraph]:
    """Every graph of n nodes whose pairs have one of these labels; None is no edge."""
    for chosen in product(edges, repeat=len(pairs)):
        present = {p: op for p, op in zip(pairs, chosen, strict=True) if op is not None}
        names = list(present.values()) if space.edge_vocabulary else None
        for labels in product(*list_node_labels(space, n)):
            given = labels if space.node_vocabulary else None
            yield LabeledGraph.from_edges(n, list(present), given, names, space.directed)


class KernelContract(Contract):
    """What a kernel must keep: a scikit-learn ``Kernel`` on rows of features.

    Give ``kernels`` (or ``kernel``) and either ``rows`` or, for kernels that a Gaussian process can
    use as they are, a ``space`` to take feature rows from.

    Example:
        >>> from nasgoat import ShortestPathKernel, nasbench201
        >>> class TestPaths(KernelContract):
        ...     space = nasbench201()
        ...     kernel = ShortestPathKernel(widths=FeatureMap(space).widths)
        >>> "test_gradient_equals_finite_differences" in TestPaths.verify()
        True
    """

    #: The kernels by name; or set ``kernel`` for a single one.
    kernels: ClassVar[Mapping[str, Any]]
    #: The space that feature rows are taken from.
    space: ClassVar[SearchSpace | None] = None
    #: Relative tolerance of the gradient.
    tolerance: ClassVar[float] = 1e-6

    @property
    def rows(self) -> NDArray[np.float64]:
        """Rows to evaluate the kernels on: those of eight random graphs of the space."""
        if self.space is None:
            raise NotImplementedError("set the attribute rows or space")
        graphs = self.space.sample(8, np.random.default_rng(0))
        return FeatureMap(self.space).rows(graphs)

    def test_gradient_equals_finite_differences(self, kernel: Any) -> None:
        rows, theta = self.rows, kernel.theta
        K, gradient = kernel(rows, eval_gradient=True)
        assert pytest.approx(kernel(rows)) == K
        assert gradient.shape == (len(rows), len(rows), len(theta))
        for i, shift in enumerate(_STEP * np.eye(len(theta))):
            up = kernel.clone_with_theta(theta + shift)(rows)
            down = kernel.clone_with_theta(theta - shift)(rows)
            scale = float(np.abs(gradient[:, :, i]).max(initial=1e-6))
            found = (up - down) / (2 * _STEP)
            assert found == pytest.approx(
                gradient[:, :, i], rel=self.tolerance, abs=self.tolerance * scale
            )

    def test_diagonal_equals_that_of_the_matrix(self, kernel: Any) -> None:
        assert kernel.diag(self.rows) == pytest.approx(np.diag(kernel(self.rows)))

    def test_matrix_is_symmetric_and_positive_semidefinite(self, kernel: Any) -> None:
        K = kernel(self.rows)
        assert pytest.approx(K.T) == K
        # rounding of the eigenvalues is of the order of the largest one
        assert np.linalg.eigvalsh(K).min() > -1e-10 * np.trace(K)

    def test_two_sets_of_rows_give_a_part_of_the_matrix(self, kernel: Any) -> None:
        rows = self.rows
        assert kernel(rows[:2], rows[2:]) == pytest.approx(kernel(rows)[:2, 2:])

    def test_equal_rows_are_equally_alike(self, kernel: Any) -> None:
        twice = np.vstack([self.rows[:1], self.rows])
        K = kernel(twice)
        assert K[0] == pytest.approx(K[1])

    def test_theta_there_and_back(self, kernel: Any) -> None:
        rows = self.rows
        assert kernel.clone_with_theta(kernel.theta)(rows) == pytest.approx(kernel(rows))
        assert clone(kernel)(rows) == pytest.approx(kernel(rows))
        low, high = np.reshape(kernel.bounds, (-1, 2)).T
        assert ((low <= kernel.theta) & (kernel.theta <= high)).all()

    def test_a_gaussian_process_learns_with_it(self, kernel: Any) -> None:
        if self.space is None:
            pytest.skip("no space is given")
        graphs = self.space.sample(8, np.random.default_rng(1))
        errors = [5.0 + len(graph.edges) + 0.1 * i for i, graph in enumerate(graphs)]
        gp = GraphGP(self.space, clone(kernel), noise=1e-4, target="plain").fit(graphs, errors)
        mean, std = gp.predict(graphs)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
        assert np.corrcoef(mean, errors)[0, 1] > 0.5

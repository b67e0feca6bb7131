"""What every kernel promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP
from nasgoat.testing.contract import Contract

_STEP = 1e-6  # central differences: the error is of the order step² ~ 1e-12, over 2e-6


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

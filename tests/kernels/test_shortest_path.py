"""One property test for every form of the kernel."""

import numpy as np
import pytest
from sklearn.base import clone

from nasgoat import ShortestPathKernel
from nasgoat.errors import SettingError, UnknownNameError

KERNELS = [
    ShortestPathKernel(form, alpha=0.7, beta=1.9, gamma=0.4, variance=2.5, widths=widths)
    for form in ("linear", "exponential")
    for widths in ((3, 2, 2), (4, 3, 0), (4, 0, 3))
]
ROWS = np.random.default_rng(0).random((6, 7))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
class TestEveryKernel:
    def test_gradient_equals_finite_differences(self, kernel: ShortestPathKernel) -> None:
        _, gradient = kernel(ROWS, eval_gradient=True)
        theta, step = kernel.theta, 1e-6
        assert gradient.shape == (6, 6, len(theta))
        for i in range(len(theta)):
            shift = step * np.eye(len(theta))[i]
            up, down = (
                kernel.clone_with_theta(theta + shift),
                kernel.clone_with_theta(theta - shift),
            )
            # central differences: the error is of the order step² ~ 1e-12, over 2e-6
            assert (up(ROWS) - down(ROWS)) / (2 * step) == pytest.approx(gradient[:, :, i], 1e-6)

    def test_diagonal_equals_that_of_the_matrix(self, kernel: ShortestPathKernel) -> None:
        assert kernel.diag(ROWS) == pytest.approx(np.diag(kernel(ROWS)))

    def test_matrix_is_symmetric_and_positive_semidefinite(
        self, kernel: ShortestPathKernel
    ) -> None:
        K = kernel(ROWS)
        assert pytest.approx(K.T) == K
        assert np.linalg.eigvalsh(K).min() > -1e-10 * np.trace(K)

    def test_two_sets_of_rows_give_a_part_of_the_matrix(self, kernel: ShortestPathKernel) -> None:
        assert kernel(ROWS[:2], ROWS[2:]) == pytest.approx(kernel(ROWS)[:2, 2:])

    def test_theta_there_and_back(self, kernel: ShortestPathKernel) -> None:
        assert kernel.clone_with_theta(kernel.theta)(ROWS) == pytest.approx(kernel(ROWS))
        assert clone(kernel)(ROWS) == pytest.approx(kernel(ROWS))
        assert kernel.bounds == pytest.approx(np.log([(0.01, 100.0)] * len(kernel.theta)))


def test_absent_blocks_have_no_hyperparameter() -> None:
    names = [h.name for h in KERNELS[1].hyperparameters if not h.fixed]
    assert names == ["alpha", "beta"]


def test_unknown_form_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean linear"):
        ShortestPathKernel("liner")


def test_kernel_without_widths_says_how_to_get_them() -> None:
    with pytest.raises(SettingError, match="give the kernel to a GraphGP"):
        ShortestPathKernel()(ROWS)

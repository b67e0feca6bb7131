"""The shortest-path kernel beyond what every kernel promises (test_contract.py)."""

import numpy as np
import pytest

from nasgoat import ShortestPathKernel
from nasgoat.errors import SettingError, UnknownNameError

KERNELS = [
    ShortestPathKernel(form, alpha=0.7, beta=1.9, gamma=0.4, variance=2.5, widths=widths)
    for form in ("linear", "exponential")
    for widths in ((3, 2, 2), (4, 3, 0), (4, 0, 3))
]
ROWS = np.random.default_rng(0).random((6, 7))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_hyperparameters_have_the_bounds_of_the_paper(kernel: ShortestPathKernel) -> None:
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

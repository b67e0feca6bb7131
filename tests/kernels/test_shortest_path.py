"""The shortest-path kernel beyond what every kernel promises (test_contract.py)."""

import numpy as np
import pytest

from nasgoat import FeatureMap, ShortestPathKernel, nasbench201
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels import PAPER_BLOCKS, make_kernel

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


@pytest.mark.parametrize("form", ["linear", "exponential", "normalised"])
def test_derivatives_in_turn_are_those_of_all_at_once(form: str) -> None:
    space = nasbench201()
    features = FeatureMap(space, (*PAPER_BLOCKS, "operations", "lengths"))
    kernel = make_kernel(form, features)
    rows = features.rows(space.sample(12, np.random.default_rng(0)))
    products, values = kernel.products(rows, rows), {**kernel.block_weights, "variance": 0.7}
    K, all_at_once = kernel.combine(products, values)
    in_turn, slopes = kernel.combine_in_turn(products, values)
    assert np.array_equal(K, in_turn)
    seen = 0
    for name, slope in slopes:
        assert np.array_equal(slope, all_at_once[name])
        if name != "variance":
            part = values[name] * products[name]
            assert np.array_equal(slope, part if form == "linear" else part * K)
        seen += 1
    assert seen == len(all_at_once) == len(products) + (form != "linear")

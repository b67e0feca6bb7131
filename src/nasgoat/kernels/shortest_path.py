"""The paper's kernels as a scikit-learn kernel on feature rows, and kernels by name.

Notation (Section 3.3 of the paper)
    k_lin = α k_g + β k_n + γ k_e + Σ_b w_b k_b       (linear)
    k_exp = σ_k² exp(k_lin)                           (exponential)
    k     = k_exp(x, x') / √(exp k_lin(x, x) exp k_lin(x', x'))
          = σ_k² exp(-½ Σ_b w_b ‖x_b - x'_b‖²)        (normalised)

The paper has the first two forms and the blocks g, n and e; other blocks b, each with a weight of
its own, are those of :mod:`nasgoat.kernels.blocks`. Where a space has several cells, k_lin is a sum
over cells, each with weights of its own (``normal.alpha``, ``reduction.alpha``). In the first two
forms the prior variance k(x, x) grows with the counts of a graph; in the third it is σ_k² for every
graph.

scikit-learn works with θ = log(parameter), so each gradient below is ∂K/∂log(parameter).
:func:`register_kernel` adds other kernels to these forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels.blocks import BLOCKS, PAPER_BLOCKS
from nasgoat.kernels.features import FeatureMap

#: The forms of the kernel in the paper: a weighted sum of products, and the exponential of one.
PAPER_FORMS = ("linear", "exponential")
#: All forms: the normalised one has the same prior variance for every graph.
FORMS = (*PAPER_FORMS, "normalised")
#: Bounds of every hyperparameter in the paper (Appendix C.1).
PAPER_BOUNDS = (0.01, 100.0)

_PAPER_WEIGHTS = ("alpha", "beta", "gamma")  # of the paper's blocks
KernelMaker = Callable[[FeatureMap], Kernel]
_MAKERS: dict[str, KernelMaker] = {}  # of registered kernels


class ShortestPathKernel(Kernel):
    """The shortest-path graph kernel in one of its forms, with further blocks if asked for.

    Args:
        form: ``"linear"``, ``"exponential"`` or ``"normalised"``.
        alpha: Weight α of the path kernel k_g.
        beta: Weight β of the node-label kernel k_n.
        gamma: Weight γ of the edge-label kernel k_e.
        variance: σ_k² of the exponential and the normalised form.
        bounds: Smallest and largest value of each of them.
        widths: Columns of the blocks g, n, e and of the others in a feature row;
            :class:`~nasgoat.GraphGP` sets them for its space. A block without columns has no
            hyperparameter.
        cells: Names of the cells, where a space has several; each has weights of its own, which
            start from alpha, beta and gamma.
        weights: Weights of further blocks by their names: ``operations=1.0``; those of a cell
            by ``cell.name``.

    Example:
        >>> kernel = ShortestPathKernel("linear", alpha=2.0, widths=(2, 0, 1))
        >>> kernel(np.array([[1.0, 2.0, 3.0]])).item()  # 2 (1 + 4) + 9
        19.0
        >>> kernel
        ShortestPathKernel(linear, alpha=2, gamma=1)
        >>> ShortestPathKernel("normalised", operations=0.5, widths=(1, 0, 0, 4))
        ShortestPathKernel(normalised, alpha=1, operations=0.5, variance=1)
    """

    def __init__(
        self,
        form: str = "linear",
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        variance: float = 1.0,
        bounds: tuple[float, float] = PAPER_BOUNDS,
        widths: tuple[int, ...] | None = None,
        cells: tuple[str, ...] = (),
        **weights: float,
    ) -> None:
        if form not in FORMS:
            raise UnknownNameError("kernel", form, FORMS)
        for name in weights:
            cell, _, block = name.rpartition(".")
            if block not in BLOCKS and not (cell and block in _PAPER_WEIGHTS):
                raise UnknownNameError("block", name, BLOCKS)
        self.form = form
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.variance = variance
        self.bounds_ = bounds
        self.widths = widths
        self.cells = cells
        weighed = {weight.rpartition(".")[2] for weight in weights}  # a cell may be named before
        self.others = tuple(name for name in BLOCKS if name in weighed)
        for name, weight in weights.items():
            setattr(self, name, weight)

    @property
    def block_weights(self) -> dict[str, float]:
        """The weight of each block, by the name of its hyperparameter, in the order of the rows."""
        paper = [f"{cell}{name}" for cell in self._prefixes for name in _PAPER_WEIGHTS]
        others = [f"{cell}{name}" for cell in self._prefixes for name in self.others]
        return {name: self._find_weight(name) for name in (*paper, *others)}

    @property
    def _prefixes(self) -> list[str]:
        return [f"{cell}." for cell in self.cells] or [""]

    def _find_weight(self, name: str) -> float:
        """A weight; one of a cell that was not set is that of all cells."""
        everywhere = getattr(self, name.rpartition(".")[2], 1.0)
        weight: float = getattr(self, name, everywhere)
        return weight

    @property
    def block_names(self) -> tuple[str, ...]:
        """The blocks that feature rows must have."""
        return (*PAPER_BLOCKS, *self.others)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, as scikit-learn asks for them."""
        names = ("form", *_PAPER_WEIGHTS, "variance", "widths", "cells")
        known = {name: getattr(self, name) for name in names} | self.block_weights
        return known | {"bounds": self.bounds_}

    def set_params(self, **params: Any) -> ShortestPathKernel:
        """Set some of the constructor's arguments."""
        for name, value in params.items():
            setattr(self, "bounds_" if name == "bounds" else name, value)
        return self

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """The weight of each block, and σ_k²; fixed where a block is empty, σ_k² if linear."""
        blocks = zip(self.block_weights, self._widths, strict=True)
        free = {name: width > 0 for name, width in blocks} | {"variance": self.form != "linear"}
        return [
            Hyperparameter(name, "numeric", self.bounds_ if is_free else "fixed")
            for name, is_free in free.items()
        ]

    def blocks(self, X: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """The blocks g, n, e and the others of feature rows."""
        return np.hsplit(X, np.cumsum(self._widths)[:-1])

    def weights(self) -> NDArray[np.float64]:
        """Weight of each row column in k_lin: α, β, γ or that of another block."""
        return np.repeat(list(self.block_weights.values()), self._widths).astype(float)

    def combine(
        self, products: Mapping[str, NDArray[np.float64]], values: Mapping[str, float]
    ) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        """The Gram matrix of this form, and its derivatives by the logarithms of the weights.

        Args:
            products: Gram matrices of the blocks, as :meth:`products` gives them, by weight.
            values: The weights, and the variance, by name.
        """
        K, slopes = self.combine_in_turn(products, values)
        return K, {name: slope.copy() for name, slope in slopes}

    def combine_in_turn(
        self, products: Mapping[str, NDArray[np.float64]], values: Mapping[str, float]
    ) -> tuple[NDArray[np.float64], Iterator[tuple[str, NDArray[np.float64]]]]:
        """The same, with the derivatives one after the other, each in the place of the last.

        Large matrices take longer to be made than to be filled.
        """
        first, *others = self.block_weights
        linear = values.get(first, 0.0) * products[first]
        slope = np.empty_like(linear)
        for name in others:
            linear += np.multiply(values.get(name, 0.0), products[name], out=slope)
        if self.form == "linear":
            return linear, (
                (name, np.multiply(values.get(name, 0.0), block, out=slope))
                for name, block in products.items()
            )
        K = np.exp(linear, out=linear)
        K *= values["variance"]

        def list_slopes() -> Iterator[tuple[str, NDArray[np.float64]]]:
            for name, block in products.items():
                np.multiply(values.get(name, 0.0), block, out=slope)
                yield name, np.multiply(slope, K, out=slope)
            yield "variance", K

        return K, list_slopes()

    def products(
        self, X: NDArray[np.float64], Y: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """⟨x_b, y_b⟩ of every block, by the name of its weight; -½ ‖x_b - y_b‖² if normalised."""
        found = {}
        for name, x, y in zip(self.block_weights, self.blocks(X), self.blocks(Y), strict=True):
            found[name] = x @ y.T
            if self.form == "normalised":
                squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)[None, :]
                found[name] = np.minimum(found[name] - 0.5 * squares, 0.0)
        return found

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The Gram matrix of rows X against rows Y (or X), and its gradient by θ."""
        values = {**self.block_weights, "variance": self.variance}
        K, slopes = self.combine(self.products(X, X if Y is None else Y), values)
        if not eval_gradient:
            return K
        free = [h.name for h in self.hyperparameters if not h.fixed]
        return K, np.stack([slopes[name] for name in free], axis=-1)

    def diag(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The diagonal of the Gram matrix of rows X."""
        if self.form == "normalised":
            return np.full(len(X), float(self.variance))
        linear: NDArray[np.float64] = X**2 @ self.weights()
        return self.variance * np.exp(linear) if self.form == "exponential" else linear

    def is_stationary(self) -> bool:
        """Whether the kernel depends on differences of rows alone: the normalised form does."""
        return self.form == "normalised"

    def __repr__(self) -> str:
        known = {**self.block_weights, "variance": self.variance}
        values = [f"{h.name}={known[h.name]:.3g}" for h in self.hyperparameters if not h.fixed]
        return f"ShortestPathKernel({', '.join([self.form, *values])})"

    @property
    def _widths(self) -> tuple[int, ...]:
        if self.widths is None:
            raise SettingError(
                "widths must be set before the kernel is evaluated; give the kernel to a GraphGP, "
                "or pass FeatureMap(space).widths"
            )
        return self.widths


def list_kernels() -> list[str]:
    """Names that :func:`make_kernel` knows."""
    return [*FORMS, *_MAKERS]


def register_kernel(name: str, make: KernelMaker) -> None:
    """Make a kernel known by a name, in settings and on the command line.

    The kernel is any of scikit-learn's, or a subclass, on the feature rows of
    :class:`~nasgoat.FeatureMap`. The catalogue is exact for it; branch and bound and the
    mixed-integer program know our own forms only.

    Args:
        name: The name; registering it again replaces the kernel.
        make: Takes the feature map of a space and returns the kernel with its starting values.

    Example:
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> register_kernel("smooth", lambda features: RBF(length_scale=0.5))
        >>> "smooth" in list_kernels()
        True
    """
    if name in FORMS:
        raise SettingError(f"a new kernel must have a name of its own, got {name!r}")
    _MAKERS[name] = make


def make_kernel(name: str, features: FeatureMap) -> Kernel:
    """The kernel of a name, for the feature rows of one space.

    Example:
        >>> from nasgoat import nasbench201
        >>> make_kernel("linear", FeatureMap(nasbench201()))
        ShortestPathKernel(linear, alpha=1, gamma=1)
    """
    if name not in list_kernels():
        raise UnknownNameError("kernel", name, list_kernels())
    if name in FORMS:
        weights: dict[str, Any] = dict.fromkeys(features.codes, 1.0)
        cells = tuple(features.space.cells)
        return ShortestPathKernel(name, widths=features.widths, cells=cells, **weights)
    return _MAKERS[name](features)

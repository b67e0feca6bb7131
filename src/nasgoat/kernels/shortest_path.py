"""The paper's kernels as a scikit-learn kernel on feature rows, and kernels by name.

Notation (Section 3.3 of the paper)
    k_lin = α k_g + β k_n + γ k_e            (linear)
    k_exp = σ_k² exp(k_lin)                  (exponential)

scikit-learn works with θ = log(parameter), so each gradient below is ∂K/∂log(parameter).
:func:`register_kernel` adds others to the paper's two forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels.features import FeatureMap

#: Forms of the kernel: a weighted sum of products of features, and the exponential of one.
FORMS = ("linear", "exponential")
#: Bounds of every hyperparameter in the paper (Appendix C.1).
PAPER_BOUNDS = (0.01, 100.0)

KernelMaker = Callable[[FeatureMap], Kernel]
_MAKERS: dict[str, KernelMaker] = {}  # of registered kernels


class ShortestPathKernel(Kernel):
    """The shortest-path graph kernel, linear or exponential.

    Args:
        form: ``"linear"`` or ``"exponential"``.
        alpha: Weight α of the path kernel k_g.
        beta: Weight β of the node-label kernel k_n.
        gamma: Weight γ of the edge-label kernel k_e.
        variance: σ_k² of the exponential form.
        bounds: Smallest and largest value of each of them.
        widths: Columns of the blocks g, n, e in a feature row; :class:`~nasgoat.GraphGP` sets them
            for its space. A block without columns has no hyperparameter.

    Example:
        >>> kernel = ShortestPathKernel("linear", alpha=2.0, widths=(2, 0, 1))
        >>> kernel(np.array([[1.0, 2.0, 3.0]])).item()  # 2 (1 + 4) + 9
        19.0
        >>> kernel
        ShortestPathKernel(linear, alpha=2, gamma=1)
    """

    def __init__(
        self,
        form: str = "linear",
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        variance: float = 1.0,
        bounds: tuple[float, float] = PAPER_BOUNDS,
        widths: tuple[int, int, int] | None = None,
    ) -> None:
        if form not in FORMS:
            raise UnknownNameError("kernel", form, FORMS)
        self.form = form
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.variance = variance
        self.bounds_ = bounds
        self.widths = widths

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, as scikit-learn asks for them."""
        names = ("form", "alpha", "beta", "gamma", "variance", "widths")
        return {name: getattr(self, name) for name in names} | {"bounds": self.bounds_}

    def set_params(self, **params: Any) -> ShortestPathKernel:
        """Set some of the constructor's arguments."""
        for name, value in params.items():
            setattr(self, "bounds_" if name == "bounds" else name, value)
        return self

    @property
    def hyperparameter_alpha(self) -> Hyperparameter:
        """α, if the rows have a block g."""
        return self._hyperparameter("alpha", self._widths[0] > 0)

    @property
    def hyperparameter_beta(self) -> Hyperparameter:
        """β, if the rows have a block n."""
        return self._hyperparameter("beta", self._widths[1] > 0)

    @property
    def hyperparameter_gamma(self) -> Hyperparameter:
        """γ, if the rows have a block e."""
        return self._hyperparameter("gamma", self._widths[2] > 0)

    @property
    def hyperparameter_variance(self) -> Hyperparameter:
        """σ_k², in the exponential form."""
        return self._hyperparameter("variance", self.form == "exponential")

    def blocks(self, X: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """The blocks g, n and e of feature rows."""
        return np.hsplit(X, np.cumsum(self._widths)[:2])

    def weights(self) -> NDArray[np.float64]:
        """Weight of each row column in k_lin: α, β or γ."""
        return np.repeat([self.alpha, self.beta, self.gamma], self._widths).astype(float)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The Gram matrix of rows X against rows Y (or X), and its gradient by θ."""
        other = X if Y is None else Y
        blocks = [x @ y.T for x, y in zip(self.blocks(X), self.blocks(other), strict=True)]
        parts = [w * b for w, b in zip((self.alpha, self.beta, self.gamma), blocks, strict=True)]
        linear = parts[0] + parts[1] + parts[2]
        exponential = self.form == "exponential"
        K = self.variance * np.exp(linear) if exponential else linear
        if not eval_gradient:
            return K
        slopes = [part * K if exponential else part for part in parts] + [K]
        free = [not hyperparameter.fixed for hyperparameter in self.hyperparameters]
        return K, np.stack([slope for slope, use in zip(slopes, free, strict=True) if use], axis=-1)

    def diag(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The diagonal of the Gram matrix of rows X."""
        linear: NDArray[np.float64] = X**2 @ self.weights()
        return self.variance * np.exp(linear) if self.form == "exponential" else linear

    def is_stationary(self) -> bool:
        """Never: the kernel depends on the rows themselves."""
        return False

    def __repr__(self) -> str:
        values = [
            f"{h.name}={getattr(self, h.name):.3g}" for h in self.hyperparameters if not h.fixed
        ]
        return f"ShortestPathKernel({', '.join([self.form, *values])})"

    @property
    def _widths(self) -> tuple[int, int, int]:
        if self.widths is None:
            raise SettingError(
                "widths must be set before the kernel is evaluated; give the kernel to a GraphGP, "
                "or pass FeatureMap(space).widths"
            )
        return self.widths

    def _hyperparameter(self, name: str, free: bool) -> Hyperparameter:
        return Hyperparameter(name, "numeric", self.bounds_ if free else "fixed")


def kernel_names() -> list[str]:
    """Names that :func:`make_kernel` knows."""
    return [*FORMS, *_MAKERS]


def register_kernel(name: str, make: KernelMaker) -> None:
    """Make a kernel known by a name, in settings and on the command line.

    The kernel is any of scikit-learn's, or a subclass, on the feature rows of
    :class:`~nasgoat.FeatureMap`. The catalogue is exact for it; branch and bound and the
    mixed-integer program know the paper's two forms only.

    Args:
        name: The name; registering it again replaces the kernel.
        make: Takes the feature map of a space and returns the kernel with its starting values.

    Example:
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> register_kernel("smooth", lambda features: RBF(length_scale=0.5))
        >>> "smooth" in kernel_names()
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
    if name not in kernel_names():
        raise UnknownNameError("kernel", name, kernel_names())
    if name in FORMS:
        return ShortestPathKernel(name, widths=features.widths)
    return _MAKERS[name](features)

"""Kernels by name: the paper's two forms, and those that others register."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.gaussian_process.kernels import Kernel

from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels.features import FeatureMap
from nasgoat.kernels.shortest_path import FORMS, ShortestPathKernel

KernelMaker = Callable[[FeatureMap], Kernel]
_MAKERS: dict[str, KernelMaker] = {}


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

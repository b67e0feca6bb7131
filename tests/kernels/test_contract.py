"""Every kernel keeps the contract of kernels."""

import numpy as np

from nasgoat import FeatureMap, NodeLabeledSpace, ShortestPathKernel, molecules, nasbench201
from nasgoat.testing import KernelContract

CELLS = NodeLabeledSpace((2, 5), ["a", "b"])


class TestShortestPathKernelOnRandomRows(KernelContract):
    kernels = {
        f"{form} {widths}": ShortestPathKernel(
            form, alpha=0.7, beta=1.9, gamma=0.4, variance=2.5, widths=widths
        )
        for form in ("linear", "exponential")
        for widths in ((3, 2, 2), (4, 3, 0), (4, 0, 3))
    }
    rows = np.random.default_rng(0).random((6, 7))


class TestShortestPathKernelOnNodeLabels(KernelContract):
    space = CELLS
    kernels = {
        form: ShortestPathKernel(form, widths=FeatureMap(CELLS).widths)
        for form in ("linear", "exponential")
    }


class TestShortestPathKernelOnEdgeLabels(KernelContract):
    space = nasbench201()
    kernels = {
        form: ShortestPathKernel(form, widths=FeatureMap(nasbench201()).widths)
        for form in ("linear", "exponential")
    }


class TestShortestPathKernelOnMolecules(KernelContract):
    space = molecules()
    kernel = ShortestPathKernel(widths=FeatureMap(molecules()).widths)

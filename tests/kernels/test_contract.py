"""Every kernel keeps the contract of kernels."""

import numpy as np

from nasgoat import FeatureMap, NodeLabeledSpace, ShortestPathKernel, molecules, nasbench201
from nasgoat.kernels import FORMS, block_names, make_kernel
from nasgoat.testing import KernelContract

EVERY_BLOCK = FeatureMap(nasbench201(), tuple(block_names()))
CELLS = NodeLabeledSpace((2, 5), ["a", "b"])


class TestShortestPathKernelOnRandomRows(KernelContract):
    kernels = {
        f"{form} {widths}": ShortestPathKernel(
            form, alpha=0.7, beta=1.9, gamma=0.4, variance=2.5, widths=widths
        )
        for form in FORMS
        for widths in ((3, 2, 2), (4, 3, 0), (4, 0, 3))
    }
    rows = np.random.default_rng(0).random((6, 7))


class TestShortestPathKernelOnNodeLabels(KernelContract):
    space = CELLS
    kernels = {form: ShortestPathKernel(form, widths=FeatureMap(CELLS).widths) for form in FORMS}


class TestShortestPathKernelOnEdgeLabels(KernelContract):
    space = nasbench201()
    kernels = {
        form: ShortestPathKernel(form, widths=FeatureMap(nasbench201()).widths) for form in FORMS
    }


class TestShortestPathKernelOnMolecules(KernelContract):
    space = molecules()
    kernel = ShortestPathKernel(widths=FeatureMap(molecules()).widths)


class TestFurtherBlocksOnRandomRows(KernelContract):
    kernels = {
        form: ShortestPathKernel(form, 0.7, variance=2.5, widths=(2, 0, 1, 4), operations=0.3)
        for form in FORMS
    }
    rows = np.random.default_rng(0).random((6, 7))


class TestAllBlocksOnEdgeLabels(KernelContract):
    space = nasbench201()
    kernels = {form: make_kernel(form, EVERY_BLOCK) for form in FORMS}
    rows = EVERY_BLOCK.rows(nasbench201().sample(8, np.random.default_rng(0)))

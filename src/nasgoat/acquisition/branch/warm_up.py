"""The compiled search, loaded or compiled before the clock of a solve starts."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

import numpy as np

from nasgoat.acquisition.branch.blas import one_blas_thread
from nasgoat.acquisition.branch.exponential import model_of, structure_bounds
from nasgoat.acquisition.branch.exponential_runs import ExponentialRun
from nasgoat.acquisition.branch.limits import limits_of
from nasgoat.acquisition.branch.runs import LinearRun
from nasgoat.acquisition.branch.skeletons import Skeletons
from nasgoat.acquisition.branch.states import states_of
from nasgoat.acquisition.branch.tables import factors_of, tables_of
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.spaces.structures import extend_rows
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior

_PATIENCE = 2.0  # seconds of loading compiled code before something is said


def warm_up(exponential: bool, progress: Callable[[str], None] | None = None) -> None:
    """Compile, or load, the machine code of one kernel; once in a process."""
    words = "compiling the search: once on a machine, about a minute"
    timer = threading.Timer(_PATIENCE, progress or print, [words])
    if progress:
        timer.start()
    _load_code(exponential)
    one_blas_thread()  # finds the libraries
    timer.cancel()


@functools.cache
def _load_code(exponential: bool) -> None:
    space = NodeLabeledSpace(4, ["a", "b"])
    features = FeatureMap(space)
    width = len(features.source)
    (block,) = Skeletons(space, False).blocks()
    if exponential:
        one = np.eye(1)
        posterior = ExponentialPosterior(np.zeros((width, 1)), np.zeros(width), 1.0, one[0], one)
        factors, model = factors_of(features, posterior), model_of(posterior, 1.0)
        bounds = structure_bounds(block, factors, model)
        ExponentialRun(block, factors, model, limits_of(block), bounds).go_on(np.inf)
        return
    extend_rows(np.array([[0, 1]]), 3, 10)
    tables = tables_of(features, LinearPosterior(np.zeros(width), np.eye(width)), 1.0)
    run = LinearRun(block, tables, states_of(block, tables), limits_of(block), lambda: -np.inf)
    while run.go_on(np.inf) is not None:
        pass

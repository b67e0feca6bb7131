"""What every case needs, imported and compiled once, before the first child is forked."""

from __future__ import annotations

import importlib
import tempfile
import threading
from pathlib import Path

from benchmarks.torture.fuzz import called
from benchmarks.torture.sessions import newest, table

from nasgoat import Optimizer, nasbench201
from nasgoat.figures import save
from nasgoat.integrations import StorageAddress, StudyLedger

_MODULES = (
    "nasgoat.acquisition.registry",
    "nasgoat.baselines",
    "nasgoat.cli.search_session",
    "nasgoat.formulations",
    "nasgoat.integrations.stored_search",
    "nasgoat.solvers.scip_model",
)


def warm() -> None:
    """Import, compile and draw once, in this thread: a child is forked from one thread alone."""
    for name in _MODULES:
        importlib.import_module(name)
    table("nb201/cifar10", False)
    space = nasbench201()
    optimizer = Optimizer(space, initial=3)
    for proposal in optimizer.ask(3):
        optimizer.tell(proposal.graph, float(len(proposal.graph.edges)))
    graph = optimizer.ask(1)[0].graph
    with tempfile.TemporaryDirectory() as folder:
        save(graph, Path(folder) / "graph.png", "warm")
        ledger = StudyLedger(StorageAddress.of(Path(folder) / "study.db"), "warm", space, {})
        newest(ledger._storage._version_manager)
        ledger.close()
        called(["status", folder])
    if threading.active_count() != 1:
        raise RuntimeError(f"one thread must be left, got {threading.enumerate()}")

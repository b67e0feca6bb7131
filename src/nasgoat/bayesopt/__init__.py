"""Search: the ask/tell optimiser, and the loop that drives it or any other method."""

from nasgoat.bayesopt.curves import CurveOptimizer
from nasgoat.bayesopt.driver import Driver
from nasgoat.bayesopt.evidence import EVIDENCE, OPEN_KERNELS
from nasgoat.bayesopt.executors import SerialExecutor, Workers
from nasgoat.bayesopt.fidelities import FidelityOptimizer
from nasgoat.bayesopt.gain import Convergence, Gain, StopRule, measure_gain
from nasgoat.bayesopt.history import Evaluation, Ledger, MemoryLedger, Ticket
from nasgoat.bayesopt.loop import run, search
from nasgoat.bayesopt.measured_limits import MeasuredLimit
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.bayesopt.plan import Asker, Events, Iteration, Plan
from nasgoat.bayesopt.results import SearchResult, Stop
from nasgoat.bayesopt.selection import Recommended
from nasgoat.bayesopt.settings import PRESETS, STRATEGIES, Settings
from nasgoat.evaluation import Objective

__all__ = [
    "EVIDENCE",
    "OPEN_KERNELS",
    "PRESETS",
    "STRATEGIES",
    "Asker",
    "Convergence",
    "CurveOptimizer",
    "Driver",
    "Evaluation",
    "Events",
    "FidelityOptimizer",
    "Gain",
    "Iteration",
    "Ledger",
    "MeasuredLimit",
    "MemoryLedger",
    "Objective",
    "Objectives",
    "Optimizer",
    "Plan",
    "Recommended",
    "SearchResult",
    "SerialExecutor",
    "Settings",
    "Stop",
    "StopRule",
    "Ticket",
    "Workers",
    "measure_gain",
    "run",
    "search",
]

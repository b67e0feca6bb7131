"""Search: the ask/tell optimiser, the driver around it and what it drives."""

from nasgoat.bayesopt.driver import Driver
from nasgoat.bayesopt.executors import SerialExecutor, Workers
from nasgoat.bayesopt.ledger import Ledger, MemoryLedger, Ticket
from nasgoat.bayesopt.loop import run, search
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.bayesopt.plan import Asker, Events, Plan
from nasgoat.bayesopt.results import Evaluation, Iteration, SearchResult, Stop
from nasgoat.bayesopt.settings import PRESETS, STRATEGIES, Settings
from nasgoat.evaluation import Objective

__all__ = [
    "PRESETS",
    "STRATEGIES",
    "Asker",
    "Driver",
    "Evaluation",
    "Events",
    "Iteration",
    "Ledger",
    "MemoryLedger",
    "Objective",
    "Optimizer",
    "Plan",
    "SearchResult",
    "SerialExecutor",
    "Settings",
    "Stop",
    "Ticket",
    "Workers",
    "run",
    "search",
]

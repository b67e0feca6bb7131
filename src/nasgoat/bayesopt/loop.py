"""``search`` and ``run``: the whole loop in one call."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from nasgoat.acquisition import AcquisitionOptimizer
from nasgoat.bayesopt.driver import Driver
from nasgoat.bayesopt.executors import Workers
from nasgoat.bayesopt.ledger import Ledger, MemoryLedger
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.bayesopt.plan import Asker, Events, Plan
from nasgoat.bayesopt.results import Evaluation, Iteration, SearchResult, Stop
from nasgoat.bayesopt.settings import Settings
from nasgoat.errors import ObjectiveError, SettingError
from nasgoat.evaluation import Evaluator, Inline, Isolated, Objective
from nasgoat.evaluation.objectives import function_path
from nasgoat.spaces import SearchSpace


def search(
    objective: Objective | str,
    space: SearchSpace,
    evaluations: int = 160,
    batch: int = 5,
    initial: int = 10,
    seed: int = 0,
    settings: Settings | None = None,
    optimizer: str | AcquisitionOptimizer = "auto",
    on_evaluation: Callable[[Evaluation], None] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    asynchronous: bool = False,
    timeout: float | None = None,
    memory_limit: float | None = None,
    ledger: Ledger | None = None,
) -> SearchResult:
    """Find the graph of lowest error in few evaluations.

    Args:
        objective: Takes a graph, returns its error or a mapping with ``error`` and more metrics;
            or ``"module:function"``, which runs in a process of its own.
        space: The space to search.
        evaluations: How many graphs to evaluate; fewer if the space has no more.
        batch: How many graphs to propose at a time after the initial design.
        initial: Random graphs before the first proposal.
        seed: Seed of everything random here.
        settings: Kernel, target and batch strategy.
        optimizer: Acquisition optimiser, by name or ready made.
        on_evaluation: Called after each evaluation.
        on_iteration: Called after each batch.
        progress: Called with a line of text when something takes long.
        executor: Where evaluations run: any ``concurrent.futures.Executor``.
        workers: Evaluations at a time; local processes if no executor is given.
        asynchronous: Give a freed worker the next graph at once instead of proposing in batches.
        timeout: Seconds an evaluation may take before it is killed.
        memory_limit: Bytes an evaluation may hold before it is killed.
        ledger: Keeps what happens; see :class:`nasgoat.integrations.StudyLedger` to resume.

    Raises:
        ObjectiveError: If the first evaluation fails, or three in a row.

    Example:
        >>> from nasgoat import nasbench201
        >>> result = search(lambda cell: 5 + len(cell.edges), nasbench201(), evaluations=20)
        >>> result.best.error, len(result.evaluations)
        (8.0, 20)
    """
    plan = Plan(evaluations, batch, asynchronous)
    asker = Optimizer(space, settings, optimizer, min(initial, evaluations), seed, progress)
    evaluator = _make_evaluator(
        objective, timeout, memory_limit, seed, executor is None and workers
    )
    if executor is not None:
        hands = Workers.on(executor, workers)
    else:
        hands = Workers.local(workers) if workers else Workers.serial()
    events = Events(on_evaluation, iteration=on_iteration)
    driver = Driver(asker, evaluator, plan, ledger or MemoryLedger(), hands, events)
    if not asynchronous:
        return _raise_if_failing(driver.run())
    with ThreadPoolExecutor(1, "nasgoat-ask") as thread:  # workers are served while it computes
        driver.asks_in = thread
        return _raise_if_failing(driver.run())


def run(
    asker: Asker,
    objective: Objective,
    evaluations: int,
    batch: int,
    on_evaluation: Callable[[Evaluation], None] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
) -> SearchResult:
    """Drive an optimiser or a baseline until the budget or the space is used up."""
    events = Events(on_evaluation, iteration=on_iteration)
    plan = Plan(evaluations, batch)
    driver = Driver(asker, Inline(objective), plan, MemoryLedger(), events=events)
    return _raise_if_failing(driver.run())


def _make_evaluator(
    objective: Objective | str,
    timeout: float | None,
    memory_limit: float | None,
    seed: int,
    processes: object,
) -> Evaluator:
    limited = timeout is not None or memory_limit is not None
    path = objective if isinstance(objective, str) else function_path(objective)
    if isinstance(objective, str) or ((limited or processes) and path is not None):
        isolated = Isolated(path, None, timeout, memory_limit, seed=seed)
        isolated.check()
        return isolated
    if limited:
        raise SettingError(
            "an objective with limits must be a function that another process can import, "
            f"got {objective!r}; define it in a module"
        )
    return Inline(objective)


def _raise_if_failing(result: SearchResult) -> SearchResult:
    if result.stop is not Stop.FAILING:
        return result
    failure = result.failures[-1].outcome
    if failure is None or failure.failure is None:
        raise ObjectiveError("the objective must return an error, got a failure")
    text = failure.failure.traceback or failure.failure.reason
    raise ObjectiveError(f"the objective must not fail again and again, got:\n{text}")

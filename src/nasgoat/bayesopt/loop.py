"""``search`` and ``run``: the whole loop in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from nasgoat.acquisition import AcquisitionOptimizer, choose
from nasgoat.bayesopt.driver import Driver
from nasgoat.bayesopt.executors import SerialExecutor, Workers, make_evaluator
from nasgoat.bayesopt.fidelities import FidelityOptimizer
from nasgoat.bayesopt.gain import StopRule
from nasgoat.bayesopt.history import Evaluation, Ledger, MemoryLedger, open_ledger
from nasgoat.bayesopt.known_results import Known, count_graphs, declare_known, gather_known
from nasgoat.bayesopt.learner import LearnerOptions
from nasgoat.bayesopt.measured_limits import split_limits
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.bayesopt.plan import Asker, Events, Iteration, Plan, find_objectives, tell_progress
from nasgoat.bayesopt.results import SearchResult, Stop
from nasgoat.bayesopt.settings import Settings
from nasgoat.bayesopt.transfer import Transfer, declare_sources, gather_sources
from nasgoat.errors import ObjectiveError, SettingError
from nasgoat.evaluation import Evaluator, Fidelities, Inline, Objective, Share, list_devices
from nasgoat.evaluation.fidelities import open_checkpoints
from nasgoat.progress import find_progress, say_if_slow, show_progress
from nasgoat.spaces import SearchSpace, load_space


def search(  # noqa: D417 what belongs together is described together
    objective: Objective | str,
    space: SearchSpace | str,
    evaluations: int = 160,
    batch: int = 5,
    initial: int = 10,
    seed: int = 0,
    settings: Settings | None = None,
    optimizer: str | AcquisitionOptimizer = "auto",
    on_evaluation: Callable[[Evaluation], None] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
    progress: Callable[[str], None] | None = show_progress,
    executor: Executor | None = None,
    workers: int | None = None,
    asynchronous: bool = False,
    timeout: float | None = None,
    memory_limit: float | None = None,
    ledger: Ledger | None = None,
    storage: str | Path | None = None,
    study: str | None = None,
    gpus: int | str | Sequence[int | str] | None = None,
    threads_per_worker: int | None = None,
    fresh_process: bool = False,
    stop_when: str | StopRule | None = None,
    minimise: Sequence[str] | str | None = None,
    limits: Sequence[str] | str = (),
    learn_failures: bool = False,
    fidelities: Fidelities | str | Mapping[str, Any] | None = None,
    checkpoints: str | Path | None = None,
    transfer: Transfer = (),
    known: Known = (),
) -> SearchResult:
    """Find the graph of lowest error in few evaluations.

    Args:
        objective: Takes a graph, returns its error or a mapping with ``error`` and more metrics;
            or ``"module:function"``, which runs in a process of its own.
        space: The space to search, or its name: ``"nb101"``, ``"my_space.toml"``.
        evaluations: How many graphs to evaluate; fewer if the space has no more.
        batch: How many graphs to propose at a time after the initial design.
        initial, seed, settings, optimizer: As for :class:`~nasgoat.Optimizer`.
        progress: Called with a line after each batch and when something takes long. By default a
            terminal shows the lines, and a notebook the last one, in place; None: nobody does.
        on_evaluation, on_iteration: Called after each evaluation, and after each batch.
        executor: Where evaluations run: any ``concurrent.futures.Executor``.
        workers: Evaluations at a time. Without an executor they run in local processes if these can
            import the objective (``"module:function"``, or a function of a module); a lambda, or a
            function of a script or notebook, runs in threads of this process, with a warning.
        asynchronous: Give a freed worker the next graph at once instead of proposing in batches.
        timeout, memory_limit: Seconds and bytes that an evaluation may take before it is killed.
        storage: Where to keep the search: a file, or a URL like ``"sqlite:///runs.db"``. The same
            call goes on where an earlier one stopped.
        study: The name of the search in its storage; ``"search"`` if none is given.
        ledger: Keeps what happens, instead of a storage.
        gpus: How many devices, or which (``"0,1"``): each worker gets one of them in
            ``CUDA_VISIBLE_DEVICES`` and ``NASGOAT_DEVICE``. As many workers unless told otherwise.
        threads_per_worker: Threads of numerical libraries in each worker's process; otherwise what
            ``OMP_NUM_THREADS`` and its like say, or one.
        fresh_process: Start a new process for every evaluation instead of one for each worker.
        stop_when: End early, as ``"gain <= 0.3"`` says: when no other graph can be better than the
            best by more than that; :class:`~nasgoat.bayesopt.StopRule` says more.
        minimise: What to minimise of the metrics that the objective returns, up to three names; the
            result is then a front. A cost that the space declares needs no measurement.
        limits: Such as ``"latency <= 5"``: on counts and costs that the space knows they always
            hold; on metrics that the objective returns they are learnt, and the best graph keeps
            them.
        learn_failures: Avoid graphs that will probably fail.
        fidelities: How long graphs are trained: ``"epochs=12,50,200"``, or with costs
            ``{"epochs": {12: 1, 200: 10}}``; otherwise costs are in proportion. The objective is
            then called as ``train(graph, 12)``, and ``evaluations`` is a budget in full trainings.
            The result is a graph with a full training.
        checkpoints: Where every graph has a folder of its own, which an objective that takes
            ``checkpoint`` is given; beside the storage by default, or only while the search runs.
        transfer: What to learn from besides this search: folders of earlier runs, files with graphs
            and errors, or :class:`~nasgoat.surrogate.Source`.
        known: Results that you have: pairs of a graph and its error (or its metrics), or files and
            folders of runs as for ``transfer``. They are learnt from and not evaluated again; each
            graph stands for one of the ``initial`` random ones.

    Raises:
        StudyError: If the stored search was begun with other values, is damaged or in use.
        ObjectiveError: If the first evaluation fails, or three in a row; with ``learn_failures``
            as many in a row as the initial design and two batches have. A first value that is NaN
            or infinite is a training that diverged, and does not end a search.

    Example:
        >>> from nasgoat import nasbench201
        >>> result = search(lambda cell: 5 + len(cell.edges), nasbench201(), evaluations=30)
        >>> result.best.error, len(result.evaluations)
        (8.0, 30)
    """
    stop = StopRule.parse(stop_when) if isinstance(stop_when, str) else stop_when
    levels = None if fidelities is None else Fidelities.of(fidelities)
    plan = Plan(evaluations, batch, asynchronous, stop, levels)
    progress, margin = find_progress(progress), stop.gain if stop else None
    limited, measured = split_limits(load_space(space), limits)
    sought = Objectives.of(minimise, measured, learn_failures, limited)
    sought.refuse_misspelt(limited)
    others = gather_sources(transfer, limited)
    # With fidelities a budget is a cost: more graphs than it may be in the initial design.
    results = gather_known(known, limited, sought)
    most = evaluations + count_graphs(results, limited)
    options: LearnerOptions = {
        "settings": settings,
        "optimizer": optimizer,
        "initial": min(initial, most) if levels is None else initial,
        "seed": seed,
        "progress": progress,
        "gain_margin": margin,
        "minimise": sought,
        "transfer": others,
        "known": results,
    }
    if levels is None:
        asker = Optimizer(limited, **options)
    else:
        asker = FidelityOptimizer(limited, levels, evaluations, **options)
    if stop and not _proves_bounds(limited, optimizer):
        raise SettingError(f"stop_when must come with an optimizer that bounds, got {optimizer!r}")
    said = _declare(objective, asker, optimizer, initial, plan)
    share = Share(list_devices(gpus), threads_per_worker)
    if share.devices and executor is not None:
        raise SettingError("gpus must come without an executor, got both; give its workers theirs")
    workers = workers or len(share.devices) or None
    isolation: dict[str, Any] = {
        "timeout": timeout,
        "memory_limit": memory_limit,
        "share": share,
        "fresh_process": fresh_process,
        "needed": sought.needed,
    }
    in_processes = executor is None and bool(workers)
    with say_if_slow(progress, "importing the objective in another process"):
        evaluator = make_evaluator(objective, isolation, seed, in_processes)
    told = tell_progress(on_iteration, progress, evaluations, sought)
    events = Events(on_evaluation, iteration=told)
    folder = open_checkpoints(levels, checkpoints, storage, study)
    with (
        folder as kept_in,
        open_ledger(ledger, storage, study, asker.space, said, evaluations) as kept,
    ):
        evaluator = replace(evaluator, checkpoints=kept_in) if kept_in else evaluator
        return _drive(asker, evaluator, plan, events, kept, Workers.find(executor, workers))


def run(
    asker: Asker,
    objective: Objective,
    evaluations: int,
    batch: int,
    on_evaluation: Callable[[Evaluation], None] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
) -> SearchResult:
    """Drive an optimiser or a baseline until the budget or the space is used up.

    Example:
        >>> from nasgoat import make_method, nasbench201
        >>> method = make_method("random", nasbench201(), seed=0)
        >>> result = run(method, lambda cell: 5.0 + len(cell.edges), evaluations=20, batch=5)
        >>> len(result.evaluations)
        20
    """
    events = Events(on_evaluation, iteration=on_iteration)
    needed = find_objectives(asker).needed
    return _drive(asker, Inline(objective, needed), Plan(evaluations, batch), events)


def _proves_bounds(space: SearchSpace, optimizer: str | AcquisitionOptimizer) -> bool:
    """Whether an optimiser bounds what is left to gain; one that is no name may."""
    named = isinstance(optimizer, str) and optimizer != "auto"
    return not named or choose(space, name=str(optimizer)).proves


def _declare(
    objective: Objective | str,
    asker: Optimizer,
    optimizer: str | AcquisitionOptimizer,
    initial: int,
    plan: Plan,
) -> dict[str, Any]:
    """What must be the same when a stored search is resumed, as ``nasgoat search`` says it."""
    name = objective
    if not isinstance(name, str):
        thing = objective if hasattr(objective, "__qualname__") else type(objective)
        name = f"{thing.__module__}:{thing.__qualname__}"
    return {
        "objective": {"objective": name},
        "direction": "minimize",
        "method": "goat",
        "settings": asker.settings.declare(),
        "optimizer": optimizer if isinstance(optimizer, str) else optimizer.name,
        "initial": initial,
        "batch": None if plan.asynchronous else plan.batch,
        "asynchronous": plan.asynchronous,
        "seed": asker.seed,
        **asker.objectives.declare(),
        **declare_sources(plan.fidelities, asker.transfer),
        **declare_known(asker.known),
    }


def _drive(
    asker: Asker,
    evaluator: Evaluator,
    plan: Plan,
    events: Events,
    ledger: Ledger | None = None,
    workers: Workers | None = None,
) -> SearchResult:
    """Run a search to its end; an objective that keeps failing is an error of the caller's."""
    # Asynchronous: workers are served while a thread computes the next proposals.
    with ThreadPoolExecutor(1, "nasgoat-ask") if plan.asynchronous else SerialExecutor() as asks_in:
        result = Driver(
            asker=asker,
            evaluator=evaluator,
            plan=plan,
            ledger=ledger or MemoryLedger(),
            workers=workers or Workers.serial(),
            events=events,
            asks_in=asks_in,
        ).run()
    if result.stop is Stop.FAILING and (failure := result.failures[-1].failure):
        times = len(result.failures)
        often = "in the first evaluation" if times == 1 else f"again and again ({times} times)"
        problem = ObjectiveError(f"the objective must not fail {often}, got {failure.reason}")
        if failure.traceback:
            problem.add_note(failure.traceback.rstrip())
        raise problem
    return result

"""``nasgoat search``: the main job."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.output import command_line, note, print_json, show

if TYPE_CHECKING:
    from nasgoat.bayesopt import SearchResult, Settings, Workers
    from nasgoat.cli.interrupts import Interrupts
    from nasgoat.cli.session import Session


def search(
    benchmark: Annotated[
        str | None,
        typer.Option(
            help="nb201/cifar10 (the default), nb201/cifar100, nb201/imagenet16-120 or nb101."
        ),
    ] = None,
    noisy: Annotated[bool, typer.Option("--noisy", help="One training's value a query.")] = False,
    space: Annotated[
        str | None, typer.Option(help="A TOML file, or a preset: nb101, darts, ...")
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="module:function: takes the graph, returns its error.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="Graph as JSON on its standard input, error on its output.")
    ] = None,
    evaluations: Annotated[int, typer.Option(help="Graphs to evaluate in all.")] = 160,
    method: Annotated[str, typer.Option(help="goat, or see nasgoat methods.")] = "goat",
    batch: Annotated[int | None, typer.Option(help="Graphs to propose at a time.")] = None,
    initial: Annotated[int, typer.Option(help="Random graphs to start with.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    preset: Annotated[
        str, typer.Option(help="default (measured best) or paper (the paper's settings).")
    ] = "default",
    kernel: Annotated[str | None, typer.Option(help="linear or exponential.")] = None,
    batch_strategy: Annotated[str | None, typer.Option(help="portfolio or top.")] = None,
    target: Annotated[str | None, typer.Option(help="rank, log or plain.")] = None,
    optimizer: Annotated[str, typer.Option(help="How to minimise the acquisition.")] = "auto",
    formulation: Annotated[str, typer.Option(help="MIP: compact or paper.")] = "compact",
    time_limit: Annotated[
        float, typer.Option(help="MIP and branch and bound: seconds for one acquisition problem.")
    ] = 1800.0,
    gap: Annotated[float, typer.Option(help="MIP: relative gap that counts as optimal.")] = 1e-4,
    threads: Annotated[int, typer.Option(help="MIP and branch and bound: threads.")] = 2,
    workers: Annotated[int, typer.Option(help="Evaluations at a time, on this machine.")] = 1,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="A freed worker gets the next graph at once.")
    ] = False,
    timeout: Annotated[float | None, typer.Option(help="Seconds an evaluation may take.")] = None,
    memory_limit: Annotated[
        float | None, typer.Option(help="Megabytes an evaluation may hold.")
    ] = None,
    retries: Annotated[int, typer.Option(help="New starts after a worker died.")] = 1,
    storage: Annotated[
        str | None,
        typer.Option(envvar="NASGOAT_STORAGE", help="SQLite file or PostgreSQL URL of the study."),
    ] = None,
    study: Annotated[str | None, typer.Option(help="Name of the study; resumed if there.")] = None,
    report: Annotated[Path | None, typer.Option(help="Folder of the run.")] = None,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Draw every cell for the dashboard.")
    ] = True,
    log_file: Annotated[Path | None, typer.Option(help="File to log to.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Find the best graph in few evaluations and show it; the same call resumes a broken one."""
    from nasgoat.acquisition import Effort, chosen_optimizer
    from nasgoat.bayesopt import Plan
    from nasgoat.cli.interrupts import Interrupts
    from nasgoat.cli.run_folder import choose_folder
    from nasgoat.cli.session import Call, Session
    from nasgoat.cli.tasks import Limits, make_task
    from nasgoat.search_methods import OURS, own_batch

    if log_file is not None:
        _log_to(log_file)
    settings = _settings(preset, kernel, batch_strategy, target)
    limits = Limits(timeout, memory_limit, retries)
    plan = Plan(evaluations, own_batch(method) if batch is None else batch, asynchronous)
    task = make_task(benchmark, noisy, space, objective, command, limits, seed)
    effort = Effort(time_limit, gap, threads, formulation=formulation)
    call = Call(
        method, settings, optimizer, effort, plan, initial, seed, quiet, pictures, command_line()
    )
    if method == OURS:  # a wrong name is told before a study is begun
        chosen_optimizer(optimizer, task.space, settings.kernel, settings.questions)
    name = study or f"{task.slug}-seed{seed}"
    declaration = call.declaration(task)
    folder, address = choose_folder(report, storage, name, declaration, evaluations)
    session, hands = Session(task, call, address, name, folder), _workers(workers, dask)
    # The first Ctrl-C is heard to the very end, so that what was found is written and shown.
    with _saying_how_to_resume(), Interrupts() as interrupts:
        result = _run(session, hands, interrupts)
        document = session.document(result)
        session.write(result, document)
        if json:
            print_json(document)
        else:
            _show(session, result, document)
        _leave(result)
        session.finish_pictures(interrupts.stopping)


def _settings(
    preset: str, kernel: str | None, batch_strategy: str | None, target: str | None
) -> Settings:
    from nasgoat.bayesopt import Settings

    given = {"kernel": kernel, "batch_strategy": batch_strategy, "target": target}
    return Settings.preset(preset, **{k: value for k, value in given.items() if value is not None})


def _workers(count: int, dask: str | None) -> Workers:
    from nasgoat.bayesopt import Workers
    from nasgoat.errors import SettingError

    if dask is None:
        return Workers.local(count)
    if count != 1:
        raise SettingError("--workers must be left out with --dask, got both")
    from nasgoat.integrations.dask_cluster import dask_workers

    return dask_workers(dask, note)


@contextlib.contextmanager
def _saying_how_to_resume() -> Iterator[None]:
    """Whatever ends a search early says how to resume it."""
    from nasgoat.errors import NasgoatError

    try:
        yield
    except typer.Exit:  # it has been said
        raise
    except BaseException as problem:
        wrong_call = isinstance(problem, NasgoatError) and isinstance(problem, ValueError)
        if not wrong_call:
            note(f"resume with: {command_line()}")
        raise


def _run(session: Session, workers: Workers, interrupts: Interrupts) -> SearchResult:
    """Run the session, and leave nothing running behind it."""
    from nasgoat.evaluation import kill_children
    from nasgoat.evaluation.evaluators import allow_children

    allow_children()  # an earlier search of this process forbade them
    try:
        return session.run(workers, interrupts.stopping)
    finally:
        kill_children(for_good=True)
        workers.close()


def _leave(result: SearchResult) -> None:
    from nasgoat.bayesopt import Stop

    if result.stop is Stop.INTERRUPTED:
        note(f"interrupted after {len(result.evaluations)} evaluations")
    elif result.stop is Stop.FAILING:
        failed = result.failures[-1].outcome
        if failed and failed.failure:
            note(failed.failure.traceback.rstrip() or failed.failure.reason)
        note("stopped: the objective fails")
    else:
        return
    note(f"resume with: {command_line()}")
    raise typer.Exit(130 if result.stop is Stop.INTERRUPTED else 1)


def _show(session: Session, result: SearchResult, document: dict[str, Any]) -> None:
    """The best cell and its figures, for a person."""
    from nasgoat.figures import ladder

    if not result.evaluations:
        return
    best = result.best
    show(f"\nbest cell of {session.task.name}, evaluation {best.number + 1}:\n")
    show(ladder(best.graph))
    show(f"\n{session.task.metric}: {best.error:.3f}")
    if document["best"]["test_error"] is not None:
        show(f"test error: {document['best']['test_error']:.3f}")
    if document["regret"] is not None:
        optimum = f"the best of the table has {document['optimum']:.3f}"
        show(f"regret: {document['regret']:.3f} ({optimum})")
    if result.failures:
        show(f"failed evaluations: {len(result.failures)}")
    show(f"written: {document['report']}/result.json and best.png")


def _log_to(path: Path) -> None:
    from nasgoat.cli.output import MaskingFormatter

    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(MaskingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    for name in ("nasgoat", "optuna", "distributed"):
        logging.getLogger(name).addHandler(handler)
    logging.getLogger("nasgoat").setLevel(logging.INFO)

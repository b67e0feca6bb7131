"""``nasgoat search``: the main job."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from nasgoat.cli.options import Solving, with_groups
from nasgoat.cli.output import command_line, log_to_file, note, print_json, show
from nasgoat.cli.search_options import Evaluating, Output, Proposing, Target
from nasgoat.errors import NasgoatError

if TYPE_CHECKING:
    from nasgoat.bayesopt import SearchResult, Workers
    from nasgoat.cli.process import Interrupts
    from nasgoat.cli.search_session import Session


@with_groups
def search(
    target: Target, proposing: Proposing, solving: Solving, evaluating: Evaluating, output: Output
) -> None:
    """Find the best graph in few evaluations and show it; the same call resumes a broken one."""
    from nasgoat.cli.process import Interrupts
    from nasgoat.cli.search_session import open_session

    if output.log_file is not None:
        log_to_file(output.log_file)
    session = open_session(target, proposing, solving, evaluating, output)
    workers = evaluating.open_workers()
    # The first Ctrl-C is heard to the very end, so that what was found is written and shown.
    with _say_how_to_resume(), Interrupts() as interrupts:
        result = _run(session, workers, interrupts)
        document = session.document(result)
        session.write(result, document)
        if output.json:
            print_json(document)
        else:
            _show(session, result, document)
        _leave(result)
        session.finish_pictures(interrupts.stopping)


@contextlib.contextmanager
def _say_how_to_resume() -> Iterator[None]:
    """Whatever ends a search early says how to resume it."""
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
    from nasgoat.evaluation import allow_children, kill_children

    allow_children()  # an earlier search of this process forbade them
    try:
        return session.run(workers, interrupts.stopping)
    finally:
        kill_children(for_good=True)
        workers.close()


def _leave(result: SearchResult) -> None:
    """End the command with an error if the search ended before its budget."""
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

"""What a search shows while it runs, and what it leaves.

A table of its progress and pictures of its cells first; at its end files, a JSON document and the
best cell.
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasgoat.acquisition import Status
from nasgoat.bayesopt import Evaluation, Events, Gain, Iteration, Objectives, SearchResult, Ticket
from nasgoat.bayesopt.known_results import describe_known, summarise_known
from nasgoat.bayesopt.recommendation import LUCK
from nasgoat.child_process import ChildProcess
from nasgoat.cli.objectives import describe_front, show_front, show_limits, write_metrics
from nasgoat.cli.terminal import note, show, show_graph
from nasgoat.errors import ChildError
from nasgoat.figures import draw as draw_graph
from nasgoat.figures import save
from nasgoat.graphs import LabeledGraph
from nasgoat.safe_files import replace_file, write_whole
from nasgoat.surrogate import ModelCheck

if TYPE_CHECKING:
    from nasgoat.cli.search_session import Session

_HEAD = " iteration  evaluations  best error    regret  certificate  model      gain   seconds"
_CLEAR = "\r\x1b[K"
_ONE_PICTURE_SECONDS = 60.0
_POLL = 0.1  # seconds between two looks at signals
_RESOLUTION = 80  # dots per inch: a thumbnail, drawn in a third of the time of a full picture
logger = logging.getLogger(__name__)


class ProgressTable:
    """The progress of a search on standard error: a line a batch, on a terminal also a live one.

    Args:
        evaluations: The budget.
        done: Evaluations that earlier sessions finished.
        regret: The regret of a graph; None where nobody knows it.
    """

    head = _HEAD

    def __init__(
        self, evaluations: int, done: int, regret: Callable[[LabeledGraph], float | None]
    ) -> None:
        self._evaluations = evaluations
        self._done = done
        self._regret = regret
        self._best = float("inf")
        self._warned: set[tuple[str | None, str | None]] = set()  # once of each is enough
        self._live = sys.stderr.isatty()
        note(self.head)

    def make_events(self, proposed: Callable[[Ticket], None] | None = None) -> Events:
        """What the driver calls."""
        return Events(self.note_evaluation, self.note_failure, self.note_iteration, proposed)

    def note_evaluation(self, evaluation: Evaluation) -> None:
        """One evaluation has ended: shown on a terminal until the next line."""
        self._best = min(self._best, evaluation.error)
        self._advance()

    def note_failure(self, ticket: Ticket) -> None:
        """One evaluation has failed."""
        if failure := ticket.failure:
            self._say(f"evaluation {ticket.number + 1} failed ({failure.kind}): {failure.reason}")
        self._advance()

    def note_iteration(self, iteration: Iteration) -> None:
        """A batch has ended."""
        regret = self._regret(iteration.best.graph)
        shown = f"{'-':>9}" if regret is None else f"{regret:9.3f}"
        self._best = iteration.best.error
        # With fidelities what was spent, in full evaluations.
        spent = f"{iteration.evaluations:12d}"
        if iteration.cost is not None:
            spent = f"{iteration.cost:12.2f}"
        self._say(
            f"{iteration.number:10d} {spent} {iteration.best.error:11.3f} "
            f"{shown}  {_show_statuses(iteration.batch):<11} {_show_model(iteration.model)} "
            f"{_show_gain(iteration.gain)} {iteration.seconds:9.1f}"
        )
        self._warn(iteration.model)

    def _warn(self, model: ModelCheck | None) -> None:
        """Say that a model has learnt nothing, and what the search does about it."""
        if model is None or model.learnt or (model.objective, model.response) in self._warned:
            return
        self._warned.add((model.objective, model.response))
        self._say(f"! {model.describe()}")
        if model.response:
            self._say(f"! {model.response}")

    def _advance(self) -> None:
        self._done += 1
        if self._live:
            best = "" if self._best == float("inf") else f", best {self._best:.3f}"
            text = f"{_CLEAR}           {self._done:12d} of {self._evaluations}{best} ..."
            print(text, end="", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        if self._live:
            print(_CLEAR, end="", file=sys.stderr)
        note(text)


class FrontTable(ProgressTable):
    """The progress of a search of several objectives, or under measured limits.

    Args:
        evaluations: The budget.
        done: Evaluations that earlier sessions finished.
        objectives: What is minimised and limited.
    """

    def __init__(self, evaluations: int, done: int, objectives: Objectives) -> None:
        self._objectives = objectives
        names = "".join(f"{f'best {name}':>16}" for name in objectives.names)
        front = "   front" * objectives.several
        self._uncertain = bool(objectives.limits) or objectives.learn_failures
        self._said_broken = False  # that no evaluation keeps the limits: once is enough
        holds = "   probability" * self._uncertain
        self.head = f" iteration  evaluations{names}{front}{holds}  certificate  model   seconds"
        super().__init__(evaluations, done, lambda graph: None)

    def note_iteration(self, iteration: Iteration) -> None:
        """A batch has ended."""
        shown = iteration.front or (iteration.best,)
        lowest = [min(e.metrics[name] for e in shown) for name in self._objectives.names]
        # In brackets as long as it breaks a limit: not the best of what is sought.
        texts = [f"{x:.4g}" if iteration.front else f"({x:.4g})" for x in lowest]
        values = "".join(f"{text:>16}" for text in texts)
        front = f"{len(iteration.front):8d}" if self._objectives.several else ""
        self._best = lowest[0]
        self._say(
            f"{iteration.number:10d} {iteration.evaluations:12d}{values}{front}"
            f"{self._show_probability(iteration)}  {_show_statuses(iteration.batch):<11} "
            f"{_show_model(iteration.model)} {iteration.seconds:9.1f}"
        )
        if not iteration.front and not self._said_broken:
            self._said_broken = True
            limits = " and ".join(limit.text for limit in self._objectives.limits)
            self._say(f"( ) no evaluation keeps {limits} yet")
        self._warn(iteration.model)

    def _show_probability(self, iteration: Iteration) -> str:
        """The mean probability that the graphs of a batch keep the limits and do not fail."""
        if not self._uncertain:
            return ""
        given = iteration.probabilities
        return f"{sum(given) / len(given):14.2f}" if given else f"{'-':>14}"


def _show_statuses(batch: Sequence[Evaluation]) -> str:
    """The certificates of a batch: their status if they agree, else how many are optimal."""
    given = [e.proposal.certificate.status for e in batch]
    made = [status for status in given if status is not Status.REPEAT] or given
    if len({*made}) > 1:
        return f"{made.count(Status.OPTIMAL)}/{len(made)} optimal"
    return str(made[0]) if made else "failed"


def _show_model(model: ModelCheck | None) -> str:
    """The rank correlation of a model, marked where it has learnt nothing."""
    if model is None:
        return f"{'-':>6}"
    ranked = "-" if model.rank_correlation is None else f"{model.rank_correlation:.2f}"
    return f"{ranked + '!' * (not model.learnt):>6}"


def _show_gain(gain: Gain | None) -> str:
    """How much better another graph can be."""
    return f"{'-':>9}" if gain is None or gain.bound is None else f"{gain.bound:9.3f}"


def describe_result(session: Session, result: SearchResult) -> dict[str, Any]:
    """The JSON document that ``nasgoat search --json`` prints."""
    best = result.best if result.evaluations else None
    benchmark = session.task.benchmark
    return {
        "best": best
        and {
            "graph": best.graph.to_dict(),
            **({} if result.objectives.plain else {"metrics": dict(best.metrics)}),
            "error": best.error,
            "uncertainty": best.uncertainty,
            "evaluations": best.times,
            "test_error": best.metrics.get("test_error"),
        },
        "lowest": best and result.lowest.error,
        "regret": best and session.task.measure_regret(best.graph),
        "evaluations": len(result.evaluations),
        "failed": len(result.failures),
        "seconds": result.seconds,
        "certified": result.certified,
        **result.spending.to_dict(),
        "known": summarise_known(result.known),
        "model": result.models[-1].to_dict() if result.models else None,
        "gain": result.gains[-1].to_dict() if result.gains else None,
        "stop": str(result.stop),
        "converged": result.converged and result.converged.to_dict(),
        "study": session.study,
        "storage": str(session.address),
        "benchmark": benchmark and benchmark.name,
        "objective": session.task.objective,
        "metric": session.task.metric,
        "optimum": benchmark.optimum if benchmark and session.task.comparable else None,
        "evaluation_of_best": best and best.number + 1,
        "method": session.proposing.method,
        "optimizer": session.choice and session.choice.to_dict(),
        "settings": session.settings and asdict(session.settings),
        "seed": session.proposing.seed,
        "report": str(session.folder),
        **(describe_front(result, session.seeking.choose or ()) if best else {}),
    }


def write_files(session: Session, result: SearchResult, document: dict[str, Any]) -> None:
    """Write the picture and result.json; one that fails never fails the search."""
    whole = {
        **document,
        "hyperparameters": [dict(values) for values in result.hyperparameters],
        "models": [model.to_dict() for model in result.models],
        "gains": [gain.to_dict() for gain in result.gains],
        "history": [evaluation.to_dict() for evaluation in result.evaluations],
        "partial": [evaluation.to_dict() for evaluation in result.partial],
        "known_results": [known.to_dict() for known in result.known],
        "failures": [
            {"number": ticket.number, "graph": ticket.graph.to_dict(), **ticket.failure.to_dict()}
            for ticket in result.failures
            if ticket.failure
        ],
    }
    try:
        session.folder.mkdir(parents=True, exist_ok=True)
        _write_picture(session, result)
        # The last of a run's files: where it is, a run is over, and not resumed.
        write_whole(session.folder / "result.json", json.dumps(whole, indent=1))
    except OSError as problem:
        note(f"the report could not be written: {problem.strerror}")


def _write_picture(session: Session, result: SearchResult) -> None:
    if not result.evaluations:
        return
    try:
        best = f"{session.task.metric} {result.best.error:.3f}"
        if not result.objectives.plain:
            best = write_metrics({n: result.best.metrics[n] for n in result.objectives.names})
        title = f"{session.task.name}: {best}"
        save(result.best.graph, session.folder / "best.png", title, session.task.space.labels)
    except Exception as problem:
        note(f"the picture could not be drawn: {problem}")


def show_result(session: Session, result: SearchResult, document: dict[str, Any]) -> None:
    """Show the best cell and its figures to a person."""
    if not result.evaluations:
        return
    best = result.best
    of = f" by {session.objectives.names[0]}" * (not session.objectives.plain)
    of = of if result.feasible else " by what it breaks of the limits"
    show(f"\nbest cell of {session.task.name}{of}, evaluation {best.number + 1}:\n")
    show_graph(best.graph, session.task.space.labels)
    if session.objectives.plain:
        show(f"\n{session.task.metric}: {best.describe_error()}")
        if best.uncertainty and best.times == 1:  # exact errors agree: 0
            show(LUCK)
    else:
        show(f"\n{write_metrics(best.metrics)}")
        show_limits(result)
    if document["best"]["test_error"] is not None:
        show(f"test error: {document['best']['test_error']:.3f}")
    if document["regret"] is not None:
        optimum = f"the best of the table has {document['optimum']:.3f}"
        mean = f"its mean over all trainings is {document['optimum'] + document['regret']:.3f}, "
        show(f"regret: {document['regret']:.3f} ({mean * session.task.noisy}{optimum})")
    if result.models and ((last := result.models[-1]).too_sure or not last.learnt):
        show(f"model: {last.describe()}")
    for line in result.spending.summarise():
        show(line)
    if result.known:
        show(describe_known(result.known, result.lowest_to_compare))
    if result.failures:
        show(f"failed evaluations: {len(result.failures)}")
    show_front(session.task.space, result, session.seeking.choose or (), document)
    show(f"written: {document['report']}/result.json and best.png")


def paint(graph: str, path: str, title: str, operations: Sequence[str]) -> None:
    """Draw a graph, given as JSON, to a PNG file that is there only when it is complete."""
    figure = draw_graph(LabeledGraph.from_json(graph), title, operations)
    with replace_file(Path(path)) as partial:
        figure.savefig(partial, format="png", dpi=_RESOLUTION, facecolor="white")


class Painter:
    """Draws pictures of cells one after the other in a process of its own, beside the search.

    A picture that can't be drawn or written costs a line in the log, never the search. The colours
    are those of ``operations``, all of the space.

    Example:
        >>> import tempfile
        >>> painter, path = Painter(), Path(tempfile.mkdtemp()) / "cell"
        >>> painter.paint(LabeledGraph.from_edges(2, [(0, 1)]), path, "a cell")
        >>> painter.close(seconds=60)
        >>> path.exists()
        True
    """

    def __init__(self, operations: Sequence[str] = ()) -> None:
        self._operations = tuple(operations)
        self._waiting: queue.SimpleQueue[tuple[str, str, str] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="nasgoat-pictures")

    def paint(self, graph: LabeledGraph, path: Path, title: str) -> None:
        """Have a picture drawn unless it is there already."""
        if path.exists():
            return
        if self._thread.ident is None:  # not started yet
            self._thread.start()
        self._waiting.put((graph.to_json(), str(path.absolute()), title))

    def close(self, seconds: float, stopping: Callable[[], bool] = lambda: False) -> None:
        """Wait for what is still to be drawn, but no longer than this many seconds."""
        if self._thread.ident is not None:
            self._waiting.put(None)
            deadline = time.monotonic() + seconds
            while self._thread.is_alive() and time.monotonic() < deadline and not stopping():
                self._thread.join(_POLL)
            if self._thread.is_alive():
                logger.info("some pictures were not drawn; they will be on resume")

    def _work(self) -> None:
        child = ChildProcess("the picture")
        while (job := self._waiting.get()) is not None:
            try:
                child.ask(paint, *job, self._operations, seconds=_ONE_PICTURE_SECONDS)
            except (ChildError, OSError) as problem:
                logger.warning("a picture could not be drawn: %s", problem)
        child.kill()

"""What a search leaves when it ends: files, a JSON document, and the best cell on the screen."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nasgoat.bayesopt import SearchResult
from nasgoat.bayesopt.known import describe_known, summarise_known
from nasgoat.cli.objectives import describe_front, show_front, show_limits, write_metrics
from nasgoat.cli.terminal import note, show, show_graph
from nasgoat.figures import save
from nasgoat.safe_files import write_whole

if TYPE_CHECKING:
    from nasgoat.cli.search_session import Session


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
        "regret": best and session.task.regret(best.graph),
        "evaluations": len(result.evaluations),
        "failed": len(result.failures),
        "seconds": result.seconds,
        "certified": result.certified,
        **result.spending.to_dict(),
        "known": summarise_known(result.known),
        "model": result.models[-1].to_dict() if result.models else None,
        "gain": result.gains[-1].to_dict() if result.gains else None,
        "stop": str(result.stop),
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
    show(f"\nbest cell of {session.task.name}{of}, evaluation {best.number + 1}:\n")
    show_graph(best.graph, session.task.space.labels)
    if session.objectives.plain:
        show(f"\n{session.task.metric}: {best.describe_error()}")
    else:
        show(f"\n{write_metrics(best.metrics)}")
        show_limits(result)
    if document["best"]["test_error"] is not None:
        show(f"test error: {document['best']['test_error']:.3f}")
    if document["regret"] is not None:
        optimum = f"the best of the table has {document['optimum']:.3f}"
        mean = f"its mean over all trainings is {document['optimum'] + document['regret']:.3f}, "
        show(f"regret: {document['regret']:.3f} ({mean * session.task.noisy}{optimum})")
    if result.models and not result.models[-1].learnt:
        show(f"model: {result.models[-1].describe()}")
    for line in result.spending.summarise():
        show(line)
    if result.known:
        show(describe_known(result.known, result.lowest_to_compare))
    if result.failures:
        show(f"failed evaluations: {len(result.failures)}")
    show_front(session.task.space, result, session.seeking.choose or (), document)
    show(f"written: {document['report']}/result.json and best.png")

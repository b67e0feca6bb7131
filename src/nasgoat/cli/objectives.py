"""What ``nasgoat search`` minimises, limits and learns from, and what it shows of a front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.options import option
from nasgoat.cli.terminal import note, show, show_graph
from nasgoat.errors import NasgoatError, SettingError, UnknownNameError

if TYPE_CHECKING:
    from nasgoat.bayesopt import Evaluation, Objectives, SearchResult
    from nasgoat.bayesopt.known_results import KnownResult
    from nasgoat.benchmarks import Benchmark
    from nasgoat.cli.search import Proposing
    from nasgoat.cli.search_task import Task
    from nasgoat.evaluation import Fidelities
    from nasgoat.spaces import SearchSpace
    from nasgoat.surrogate import Source

_SAMPLED = 30  # graphs whose metrics tell those of a table

Choose = Annotated[
    list[str] | None,
    typer.Option(help="Show the best under a limit after the fact: 'latency <= 4'; repeatable."),
]


@dataclass(frozen=True)
class Seeking:
    """What is minimised, and what must hold."""

    minimise: list[str] | None = option(
        "A metric that the objective returns, or a cost of the space; repeatable."
    )
    limit: list[str] | None = option(
        "'latency <= 5': hard if the space knows it, else learnt from what the objective "
        "returns; repeatable."
    )
    learn_failures: bool = option(
        "Avoid graphs that will probably fail.", False, "--learn-failures"
    )
    choose: Choose = None

    def apply(self, task: Task) -> tuple[Task, Objectives]:
        """The task under its hard limits, whose evaluator returns what is needed."""
        from nasgoat.acquisition import require_satisfiable
        from nasgoat.bayesopt import Objectives
        from nasgoat.bayesopt.measured_limits import split_limits

        space, measured = split_limits(task.space, self.limit or ())
        objectives = Objectives.of(self.minimise, measured, self.learn_failures, space)
        self._check_names(task, objectives)
        if space is not task.space:
            require_satisfiable(space)
            task = replace(task, space=space, comparable=False)
        if objectives.plain:
            return task, objectives
        evaluator = replace(task.evaluator, needed=objectives.needed)  # type: ignore[type-var]
        return replace(task, evaluator=evaluator, comparable=False), objectives

    def _check_names(self, task: Task, objectives: Objectives) -> None:
        """Refuse, before anything is evaluated, names that neither benchmark nor space can mean."""
        from nasgoat.bayesopt.measured_limits import MeasuredLimit

        chosen = [MeasuredLimit.parse(text) for text in self.choose or ()]
        if task.benchmark is None:
            objectives.refuse_misspelt(task.space)
            return
        if objectives.plain and not chosen:
            return
        metrics = _list_metrics(task.benchmark)
        objectives.check_names(metrics, task.space)
        for limit in chosen:
            if limit.name not in (known := [*metrics, *objectives.known]):
                raise UnknownNameError("a value to choose by", limit.name, known)

    def refuse(self, objectives: Objectives, proposing: Proposing) -> None:
        """Refuse what does not go together with several objectives or measured limits."""
        if objectives.plain:
            return
        method, stop_when, repeats = proposing.method, proposing.stop_when, proposing.repeats
        for name, wrong in (("the method goat", method != "goat"), ("no --stop-when", stop_when)):
            if wrong:
                raise SettingError(
                    f"--minimise, --limit and --learn-failures must come with {name}, got "
                    f"{stop_when or method}"
                )
        if repeats is not None and repeats > 1:
            raise SettingError(
                "--repeats must come with one error to minimise and no measured limit, got "
                f"{repeats}; otherwise every graph is evaluated once"
            )


@dataclass(frozen=True)
class Learning:
    """What is learnt from besides full evaluations."""

    fidelity: str | None = option(
        "Shorter trainings: epochs=12,50,200, or with costs epochs=12:1,200:10. "
        "--evaluations is then a budget in full trainings."
    )
    transfer: list[str] | None = option(
        "Folder of an earlier run, or a .csv or .json file with graphs and errors; may be "
        "given several times."
    )

    known: list[str] | None = option(
        "Results that you have, learnt from and not evaluated again: a .csv or .json file "
        "with graphs and errors, or the folder of an earlier run; may be given several times."
    )

    def read_fidelities(self, method: str) -> Fidelities | None:
        """The fidelities that are asked for; only our own method has them."""
        from nasgoat.evaluation import Fidelities
        from nasgoat.search_methods import OURS

        given = {"--fidelity": self.fidelity, "--transfer": self.transfer}
        for name, value in given.items():
            if value and method != OURS:
                raise SettingError(f"{name} must come with the method goat, got {method}")
        return None if self.fidelity is None else Fidelities.parse(self.fidelity)

    def refuse(self, several: bool) -> None:
        """Refuse to learn from other sources where several values are minimised or limited."""
        for name, value in (("--fidelity", self.fidelity), ("--transfer", self.transfer)):
            if value and several:
                raise SettingError(
                    f"{name} must come with one error to minimise and no measured limit, "
                    "got several values"
                )

    def read_sources(self, space: SearchSpace) -> tuple[Source, ...]:
        """The other sources that are asked for."""
        from nasgoat.bayesopt.transfer import gather_sources

        return gather_sources(self.transfer or (), space)

    def read_known_results(
        self, space: SearchSpace, objectives: Objectives
    ) -> tuple[KnownResult, ...]:
        """What is known before the search."""
        from nasgoat.bayesopt.known_results import gather_known

        return gather_known(self.known or (), space, objectives)


def _list_metrics(table: Benchmark) -> list[str]:
    """The numbers that a benchmark's table has."""
    import numpy as np

    rng, found = np.random.default_rng(0), dict[str, float]()
    for graph in table.space.sample(_SAMPLED, rng):
        found |= table.query(graph, rng)  # a table may lack a number of some graphs
    return [name for name, value in found.items() if isinstance(value, int | float)]


def describe_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation on a front as JSON has it."""
    return {
        "graph": evaluation.graph.to_dict(),
        "metrics": dict(evaluation.metrics),
        "evaluation": evaluation.number + 1,
    }


def describe_front(result: SearchResult, choose: Sequence[str]) -> dict[str, Any]:
    """What JSON has besides the best, where more than one error counts; else nothing."""
    found: dict[str, Any] = {}
    if not result.objectives.plain:
        knee, known = result.knee, result.feasible
        found = {
            **result.objectives.declare(),
            "feasible": known,
            "front": [describe_evaluation(e) for e in result.front],
            "hypervolume": result.hypervolume(),
            "reference": result.reference if known else None,
            "knee": knee and knee.number + 1,
        }
    if choose:
        chosen = _choose(result, choose)
        found["chosen"] = chosen and describe_evaluation(chosen)
    return found


def _choose(result: SearchResult, limits: Sequence[str]) -> Evaluation | None:
    """The best under limits after the fact; None, and a line that says why, if there is none."""
    try:
        return result.choose(*limits)
    except NasgoatError as problem:
        note(f"--choose: {problem}")
        return None


def show_front(
    space: SearchSpace, result: SearchResult, choose: Sequence[str], document: dict[str, Any]
) -> None:
    """Show the front, and what was chosen from it."""
    for line in result.summarise_front():
        show(line)
    if result.objectives.several and result.front:
        corner = ", ".join(f"{value:.4g}" for value in document["reference"])
        show(f"hypervolume: {document['hypervolume']:.4g} up to ({corner})")
    if document.get("chosen"):
        chosen = result.choose(*choose)
        show(f"\nbest under {' and '.join(choose)}, evaluation {chosen.number + 1}:\n")
        show_graph(chosen.graph, space.labels)
        show("\n" + write_metrics(chosen.metrics))


def show_limits(result: SearchResult) -> None:
    """Say how many evaluations keep the limits that are measured."""
    limits = result.objectives.limits
    if limits and result.feasible:
        kept = sum(result.objectives.is_feasible(e.metrics) for e in result.evaluations)
        said = " and ".join(limit.text for limit in limits)
        show(f"{said}: {kept} of {len(result.evaluations)} evaluations")


def write_metrics(metrics: Any) -> str:
    """Metrics that are numbers in a line: ``error 6.1, latency 4.2``."""
    numbers = {n: x for n, x in metrics.items() if isinstance(x, int | float)}
    return ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())

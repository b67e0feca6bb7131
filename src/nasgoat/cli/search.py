"""``nasgoat search``: the main job."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nasgoat.cli.output import fresh_folder, note, print_json, write_whole

if TYPE_CHECKING:
    from nasgoat.bayesopt import Asker, Iteration, SearchResult, Settings
    from nasgoat.benchmarks import Benchmark

_HEAD = " iteration  evaluations  best error    regret  certificate   seconds"


def search(
    benchmark: Annotated[
        str, typer.Option(help="nb201/cifar10, nb201/cifar100, nb201/imagenet16-120 or nb101.")
    ] = "nb201/cifar10",
    noisy: Annotated[bool, typer.Option("--noisy", help="One training's value a query.")] = False,
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
    report: Annotated[Path | None, typer.Option(help="Folder for the result.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Find the best graph of a benchmark in few evaluations and show it."""
    from nasgoat.baselines import own_batch
    from nasgoat.bayesopt import Settings
    from nasgoat.benchmarks import benchmark as find_benchmark

    given = {"kernel": kernel, "batch_strategy": batch_strategy, "target": target}
    changes = {name: value for name, value in given.items() if value is not None}
    settings = Settings.preset(preset, **changes)
    table = find_benchmark(benchmark, noisy)
    size = own_batch(method) if batch is None else batch
    run = _Run(table, method, settings, optimizer, evaluations, size, initial, seed, quiet)
    result = run.search()
    document = run.document(result)
    folder = report or Path("runs") / f"{benchmark.replace('/', '-')}-seed{seed}"
    document["report"] = str(run.write(result, document, fresh_folder(folder)))
    if json:
        print_json(document)
    else:
        run.show(result, document)
    if run.interrupted:
        raise typer.Exit(130)


@dataclass
class _Run:
    """One search of a benchmark with its progress, result document and files."""

    benchmark: Benchmark
    method: str
    settings: Settings
    optimizer: str
    evaluations: int
    batch: int
    initial: int
    seed: int
    quiet: bool
    interrupted: bool = False

    def search(self) -> SearchResult:
        """Run the search; Ctrl-C ends it with what was evaluated so far."""
        import numpy as np

        from nasgoat.bayesopt import Evaluation, SearchResult, run

        if not self.quiet:
            note(f"searching {self.benchmark.name}: {self.benchmark.space.describe()}")
            note(_HEAD)
        rng = np.random.default_rng([self.seed, 1])
        done: list[Evaluation] = []
        start = time.perf_counter()
        try:
            return run(
                self._asker(),
                lambda graph: self.benchmark.query(graph, rng),
                self.evaluations,
                self.batch,
                done.append,
                None if self.quiet else self._progress,
            )
        except KeyboardInterrupt:
            if not done:
                raise
            self.interrupted = True
            note(f"interrupted after {len(done)} evaluations")
            return SearchResult(tuple(done), time.perf_counter() - start)

    def _asker(self) -> Asker:
        from nasgoat.baselines import OURS, make_method

        options: dict[str, Any] = {}
        if self.method == OURS:
            progress = None if self.quiet else note
            options = {"settings": self.settings, "optimizer": self.optimizer, "progress": progress}
        space, initial = self.benchmark.space, min(self.initial, max(self.evaluations, 1))
        return make_method(self.method, space, initial, self.seed, self.evaluations, **options)

    def document(self, result: SearchResult) -> dict[str, Any]:
        """The JSON document of the CLI contract."""
        best = result.best
        return {
            "best": {"graph": best.graph.to_dict(), "error": best.error, "test_error": None},
            "regret": self._regret(result),
            "evaluations": len(result.evaluations),
            "seconds": result.seconds,
            "certified": result.certified,
            "study": None,
            "storage": None,
            "benchmark": self.benchmark.name,
            "metric": self.benchmark.metric,
            "optimum": self.benchmark.optimum,
            "evaluation_of_best": best.number + 1,
            "method": self.method,
            "settings": asdict(self.settings) if self.method == "goat" else None,
            "seed": self.seed,
        }

    def write(self, result: SearchResult, document: dict[str, Any], folder: Path) -> Path:
        """Write result.json and the picture; a picture that fails never fails the search."""
        import json

        from nasgoat.figures import save

        history = [evaluation.to_dict() for evaluation in result.evaluations]
        hyperparameters = [dict(values) for values in result.hyperparameters]
        whole = {**document, "hyperparameters": hyperparameters, "history": history}
        write_whole(folder / "result.json", json.dumps(whole, indent=1))
        try:
            title = f"{self.benchmark.name}: {self.benchmark.metric} {result.best.error:.3f}"
            save(result.best.graph, folder / "best.png", title)
        except Exception as problem:
            note(f"the picture could not be drawn: {problem}")
        return folder

    def show(self, result: SearchResult, document: dict[str, Any]) -> None:
        """The best cell and its figures, for a person."""
        from nasgoat.figures import ladder

        best = result.best
        print(f"\nbest cell of {self.benchmark.name}, evaluation {best.number + 1}:\n")
        print(ladder(best.graph))
        print(f"\n{self.benchmark.metric}: {best.error:.3f}")
        optimum = f"the best of the table has {document['optimum']:.3f}"
        print(f"regret: {document['regret']:.3f} ({optimum})")
        print(f"written: {document['report']}/result.json and best.png")

    def _progress(self, iteration: Iteration) -> None:
        certificates = [e.proposal.certificate for e in iteration.batch]
        statuses = {str(certificate.status) for certificate in certificates}
        regret = self.benchmark.mean_error(iteration.best.graph) - self.benchmark.optimum
        note(
            f"{iteration.number:10d} {iteration.evaluations:12d} {iteration.best.error:11.3f} "
            f"{regret:9.3f}  {'/'.join(sorted(statuses)):<11} {iteration.seconds:9.1f}"
        )

    def _regret(self, result: SearchResult) -> float:
        return self.benchmark.mean_error(result.best.graph) - self.benchmark.optimum

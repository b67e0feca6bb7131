"""Options in groups: a dataclass is a group, a field of it an option, its docstring the heading.

A verb takes groups as it takes values::

    @with_groups
    def solve(top: Top = 5, *, solving: Solving) -> None: ...

and the command line shows the fields of ``Solving`` as options under their heading. What several
verbs take is declared here, once.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from nasgoat.cli.terminal import note
from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.acquisition import Effort
    from nasgoat.bayesopt import Workers
    from nasgoat.evaluation import Share


def option(said: str, default: Any = None, *names: str) -> Any:
    """A field of a group: what the command line says of it, its default, and its names.

    Example:
        >>> @dataclass(frozen=True)
        ... class Colours:
        ...     colour: str = option("A colour.", "red", "--colour", "-c")
        >>> Colours().colour, next(_expand(Colours)).annotation.__metadata__[0].help
        ('red', 'A colour.')
    """
    return field(default=default, metadata={"option": typer.Option(*names, help=said)})


def _check_seed(seed: int) -> int:
    if seed < 0:
        raise SettingError(f"--seed must be at least 0, got {seed}")
    return seed


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Seed = Annotated[int, typer.Option(callback=_check_seed, help="Seed of everything random.")]
SpaceName = Annotated[
    str, typer.Argument(help="A TOML file, or a preset: nb101, nb201, darts, molecules, ...")
]
Nodes = Annotated[
    int | None, typer.Option(help="Only graphs with so many nodes (heavy atoms of molecules).")
]
Dask = Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")]
Storage = Annotated[
    str | None,
    typer.Option(envvar="NASGOAT_STORAGE", help="SQLite file or PostgreSQL URL of the study."),
]
KERNEL = typer.Option(
    help="linear (that of the preset paper), exponential or normalised; or several kernels, fitted "
    "before each batch: evidence takes the one that predicts best, averaged and together average "
    "them, by evidence or equally. By default, where every graph can be scored, evidence, or "
    "together if operations are on edges and none is a skip connection; in larger spaces "
    "exponential, or linear if that is too slow. Fronts and measured limits take exponential or "
    "linear everywhere, except fronts of two values where operations are on edges."
)
Blocks = Annotated[
    str | None,
    typer.Option(
        help="Features of the kernel: paths,nodes,edges (the default) and "
        "operations,shape,longest,lengths,surroundings."
    ),
]
Preset = Annotated[
    str, typer.Option(help="default (measured best) or paper (the paper's settings).")
]
_ONE_OBJECTIVE = "lcb (the default), ei or thompson: bound, improvement or a random draw"
AcquisitionName = Annotated[
    str | None,
    typer.Option(
        help=f"{_ONE_OBJECTIVE}. Of several objectives: hypervolume (two, where every graph can be "
        "scored; the default there), chebyshev (the default elsewhere) or epsilon: the expected "
        "gain of volume, a weighted maximum, or one value while the others are bounded."
    ),
]
AcquisitionOfOne = Annotated[str | None, typer.Option(help=f"{_ONE_OBJECTIVE}.")]
BatchStrategy = Annotated[str | None, typer.Option(help="portfolio, spread or top.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        help="Seconds for one acquisition problem; 60 in a search, else 1800, as with "
        "--preset paper."
    ),
]
PAPER_SECONDS = 1800.0  # for one acquisition problem


@dataclass(frozen=True)
class Solving:
    """How the acquisition is minimised."""

    optimizer: str = option(
        "Minimises the acquisition: auto, branch, catalogue, scip, gurobi, local, mutation or "
        "sampling.",
        "auto",
    )
    formulation: str = option("MIP: compact or paper.", "compact")
    time_limit: TimeLimit = None
    gap: float = option("MIP: relative gap that counts as optimal.", 1e-4)
    threads: int = option("MIP and branch and bound: threads.", 2)
    optimizer_memory: float | None = option(
        "Megabytes that minimising the acquisition may take; half of what is free by default.", None
    )

    def make_effort(self, time_limit: float = PAPER_SECONDS) -> Effort:
        """The limits of one acquisition problem; ``time_limit`` is used if no option sets one."""
        from nasgoat.acquisition import Effort

        return Effort(
            time_limit=time_limit if self.time_limit is None else self.time_limit,
            gap=self.gap,
            threads=self.threads,
            formulation=self.formulation,
            memory=self.optimizer_memory,
        )


@dataclass(frozen=True)
class Evaluating:
    """How graphs are evaluated, and where."""

    workers: int | None = option("Evaluations at a time, on this machine; 1, or as many as --gpus.")
    gpus: str | None = option("How many GPUs, or which (0,1,2,3): each worker gets one.")
    threads_per_worker: int | None = option(
        "OMP_NUM_THREADS and its like in each worker; 1 by default."
    )
    fresh_process: bool = option("A new process for every evaluation.", False, "--fresh-process")
    dask: Dask = None
    dask_resources: str | None = option("What an evaluation takes of Dask's resources: GPU=1.")
    asynchronous: bool = option(
        "A freed worker gets the next graph at once.", False, "--asynchronous"
    )
    timeout: float | None = option("Seconds an evaluation may take.")
    memory_limit: float | None = option("Megabytes an evaluation may hold.")
    retries: int = option("New starts after a worker died.", 1)

    @property
    def share(self) -> Share:
        """What of the machine each worker gets."""
        from nasgoat.evaluation import Share, list_devices

        return Share(list_devices(self.gpus), self.threads_per_worker)

    def open_workers(self) -> Workers:
        """Whoever evaluates; to be closed."""
        from nasgoat.bayesopt import Workers

        if self.dask is None:
            if self.dask_resources is not None:
                raise SettingError("--dask-resources must come with --dask, got none")
            return Workers.local(self.count_workers())
        for name, value in (("--workers", self.workers), ("--gpus", self.gpus)):
            if value is not None:
                raise SettingError(f"{name} must be left out with --dask, got both")
        from nasgoat.integrations.dask_cluster import connect_dask_workers, read_resources

        return connect_dask_workers(self.dask, note, resources=read_resources(self.dask_resources))

    def count_workers(self) -> int:
        """How many evaluations run at a time on this machine."""
        return (len(self.share.devices) or 1) if self.workers is None else self.workers


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """The same verb for Typer: each parameter that is a group gives way to the group's fields.

    Example:
        >>> @with_groups
        ... def solve(top: int, solving: Solving) -> None:
        ...     print(top, solving.optimizer, solving.threads)
        >>> [*inspect.signature(solve).parameters]
        ['top', 'optimizer', 'formulation', 'time_limit', 'gap', 'threads', 'optimizer_memory']
        >>> options = {"formulation": "paper", "time_limit": 1.0, "gap": 0.0, "threads": 1}
        >>> solve(top=5, optimizer="scip", optimizer_memory=None, **options)
        5 scip 1
    """
    kinds = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(verb).parameters.values():
        if parameter.name in groups:
            options += _expand(groups[parameter.name])
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            options.append(parameter.replace(kind=kind, annotation=kinds[parameter.name]))

    @functools.wraps(verb)
    def command(**given: Any) -> None:
        made = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        verb(**given, **made)

    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command


def _expand(group: Any) -> Iterator[inspect.Parameter]:
    """The fields of a group as parameters, under its heading."""
    heading = str(inspect.getdoc(group)).partition("\n")[0].rstrip(".")
    kinds = get_type_hints(group, include_extras=True)
    for each in fields(group):
        kind, declared = kinds[each.name], each.metadata.get("option")
        if declared is None:  # one that several verbs take has its option beside its type
            kind, declared = get_args(kind)
        shown = copy.copy(declared)
        shown.rich_help_panel = heading
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        yield inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, shown],
        )


def make_slug(name: str) -> str:
    """A name as part of a path: letters, digits and dashes alone.

    Example:
        >>> make_slug("../nb101 examples.digits:train")
        'nb101-examples-digits-train'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:80] or "search"


def split_names(text: str) -> list[str]:
    """The names of an option such as ``random,goat-e``."""
    return [name.strip() for name in text.split(",")]


def split_numbers(name: str, text: str) -> list[int]:
    """The whole numbers of an option such as ``5,6,7``; its name is for the message."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"{name} must be numbers like 5,6,7, got {text!r}") from None

"""What the optimiser does between two batches, as one frozen value; ours, and the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Effort,
    find_acquisition,
    forecast_seconds,
    make_optimizer,
)
from nasgoat.acquisition.costs import LARGEST_CATALOGUE, bound_graphs
from nasgoat.bayesopt.evidence import (
    EVIDENCE,
    OPEN_KERNELS,
    RANDOM_EVERY,
    TOGETHER,
    sees_lengths,
)
from nasgoat.bayesopt.objectives import Objectives
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels import PAPER_BLOCKS, block_names, check_blocks, keep_bounded, list_kernels
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.target import TARGETS
from nasgoat.upper_layers import SOLVERS

#: How a batch is chosen: by the bounds at several √β, the same where each graph is believed to come
#: out as predicted before the next is chosen, or by the lowest bounds at one √β.
STRATEGIES = ("portfolio", "spread", "top")
#: Acquisition functions of several objectives, the default first; the first is of two alone.
FUNCTIONS_OF_SEVERAL = ("hypervolume", "chebyshev", "epsilon")
_UNDER_LIMITS = "constrained"  # the lower confidence bound where limits are measured
_HOPELESS = 10.0  # times the time limit: beyond it, even the gap will hardly be small
#: Times as quick: neither kernel may be proven in time, but one has a far smaller gap by then.
_FAR_QUICKER = 100.0
#: Said when the linear kernel is taken.
LINEAR_INSTEAD = (
    "the linear kernel is taken: under the exponential one no proposal can be proven best in the "
    "time limit on this space (--kernel or Settings(kernel=...) decides otherwise)"
)
#: The √β of a batch where edges have no direction: the kernel that speaks there has the same prior
#: variance for every graph, and larger √β only go to what is unlike everything known.
CALM_SQRT_BETAS = (0.25, 0.5, 1.0, 1.5, 2.0)
#: Graphs of a space for which the evidence may choose: each kernel scores all of them.
LARGEST_CHOICE = 2_000_000
#: How many of five proposals are random while a kernel that nobody named has learnt nothing and
#: stands alone (docs/decisions/0141-one-kernel-that-knows-nothing.md).
EXPLORE = 3
#: How often a promising graph is evaluated by default where errors are known to be noisy.
NOISY_REPEATS = 24
#: Settings that earlier versions did not have; at these values they are not declared.
_ADDED = {"repeats": 1, "blocks": PAPER_BLOCKS, "priors": False, "acquisition": "lcb"}


#: Settings that may differ when a search is resumed.
_FREE = ("time_limit", "optimizer_memory", "explore")


@dataclass(frozen=True)
class Settings:
    """How the optimiser fits its surrogate and chooses the next batch.

    The defaults did best in our measurements (docs/decisions/0004-search-defaults.md);
    ``Settings.preset("paper")`` has the paper's settings.

    Args:
        kernel: ``"linear"``, ``"exponential"``, ``"normalised"``, or a name that was registered;
            ``"evidence"`` fits several before each batch and takes the one that predicts what was
            observed best, ``"averaged"`` and ``"together"`` average them
            (:mod:`nasgoat.bayesopt.evidence`).
        target: What is learnt of the errors: ``"rank"``, ``"log"`` or ``"plain"``.
        noise: Observation noise variance of the scaled target, or ``"fit"``.
        batch_strategy: ``"top"`` takes the best graphs of one acquisition function;
            ``"portfolio"`` takes the best graph of each of several: for ``"lcb"`` those of
            ``sqrt_betas`` in turn, for ``"ei"`` one that believes the graphs before it to come out
            as predicted, for ``"thompson"`` a draw each; ``"spread"`` is the same, but ``"lcb"``
            believes them too, so that a batch holds fewer graphs that are much alike.
        sqrt_beta: √β of ``"lcb"`` with the strategy ``"top"``.
        sqrt_betas: The √β of ``"lcb"`` with the strategy ``"portfolio"``.
        restarts: Further random starts of the hyperparameter search.
        repeats: How often a graph is evaluated that may be the best by its own errors, where they
            are noisy; one proposal in five may be a repeat, three after a hundred evaluations. 1
            repeats nothing.
        time_limit: Seconds for one acquisition problem; 1800 in the paper. Not part of what must be
            the same when a search is resumed.
        optimizer_memory: Megabytes that minimising the acquisition may take, half of what is free
            if None. Not part of what must be the same either.
        explore: How many of five proposals of a portfolio are random graphs while a kernel that
            stands alone has learnt nothing; 0, the default of kernels that are named, for none.
            Unless it is 0, a kernel that knows the shape of a graph is fitted beside it, and
            proposes where it predicts far better: by local search, without a proof, where the
            optimiser works by bounds. Not part of what must be the same either.
        blocks: Blocks of features that the kernel works on: the paper's ``"paths"``, ``"nodes"``
            and ``"edges"``, and ``"operations"``, ``"shape"``, ``"longest"``, ``"lengths"`` and
            ``"surroundings"``.
        priors: Whether hyperparameters have weak priors, instead of bounds alone.
        acquisition: ``"lcb"``, ``"ei"`` or ``"thompson"``, or a name that was registered; of
            several objectives ``"hypervolume"``, ``"chebyshev"`` or ``"epsilon"``, and ``"lcb"``
            stands for the one of them that suits the space.

    Example:
        >>> Settings.preset("paper", kernel="linear").batch_strategy
        'top'
    """

    kernel: str = "exponential"
    target: str = "rank"
    noise: float | str = "fit"
    batch_strategy: str = "portfolio"
    sqrt_beta: float = 3.0
    sqrt_betas: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0, 5.0)
    restarts: int = 0
    repeats: int = 1
    time_limit: float = 60.0
    blocks: tuple[str, ...] = PAPER_BLOCKS
    priors: bool = False
    acquisition: str = "lcb"
    optimizer_memory: float | None = None
    explore: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", check_blocks(self.blocks))
        if not self.blocks:
            raise SettingError("blocks must hold at least one name, got none")
        if self.kernel not in (names := [*list_kernels(), *OPEN_KERNELS]):
            raise UnknownNameError("kernel", self.kernel, names)
        if self.kernel in OPEN_KERNELS and (self.blocks != PAPER_BLOCKS or self.priors):
            raise SettingError(
                f"blocks and priors must be left to the kernel {self.kernel!r}, got others"
            )
        if self.target not in TARGETS:
            raise UnknownNameError("target", self.target, TARGETS)
        if self.batch_strategy not in STRATEGIES:
            raise UnknownNameError("batch strategy", self.batch_strategy, STRATEGIES)
        kernels = find_acquisition(self.acquisition).kernels
        if kernels is not None and self.widest_kernel[0] not in kernels:
            raise SettingError(
                f"the kernel must be {' or '.join(kernels)} for the acquisition "
                f"{self.acquisition}, got {self.kernel!r}"
            )
        if not self.sqrt_betas:
            raise SettingError("sqrt_betas must hold at least one number, got none")
        if not 0 <= self.explore <= RANDOM_EVERY:
            raise SettingError(f"explore must be 0 to {RANDOM_EVERY}, got {self.explore!r}")
        if self.repeats < 1:
            raise SettingError(f"repeats must be at least 1, got {self.repeats!r}")

    def declare(self) -> dict[str, Any]:
        """What must be the same when a search is resumed."""
        given = asdict(self).items()
        return {k: v for k, v in given if k not in _FREE and _ADDED.get(k) != v}

    def adapt_to(
        self,
        objectives: Objectives,
        space: SearchSpace,
        optimizer: str | AcquisitionOptimizer = "auto",
    ) -> Settings:
        """The settings of a search of these objectives, with the function that it minimises.

        Nothing is repeated where several values are minimised or limits are measured.

        Example:
            >>> from nasgoat import darts, nasbench201
            >>> both = Objectives.of(["error", "latency"])
            >>> Settings().adapt_to(both, nasbench201()).acquisition
            'hypervolume'
            >>> Settings().adapt_to(both, darts()).acquisition  # too large for a catalogue
            'chebyshev'
            >>> limited = Objectives.of("error", ["latency <= 5"])
            >>> Settings().adapt_to(limited, nasbench201()).acquisition
            'constrained'
        """
        name = self.acquisition
        if objectives.plain:
            if name in (*FUNCTIONS_OF_SEVERAL, _UNDER_LIMITS):
                needs = "measured limits" if name == _UNDER_LIMITS else "several objectives"
                raise SettingError(f"the acquisition {name} must come with {needs}, got one error")
            return self
        if self.batch_strategy == "top":
            raise SettingError(
                "the batch strategy must be portfolio or spread for several objectives and "
                "measured limits, got 'top', which the preset paper has; add --batch-strategy "
                "portfolio"
            )
        if not objectives.several:
            if name not in ("lcb", _UNDER_LIMITS):
                raise SettingError(f"the acquisition must be lcb for measured limits, got {name!r}")
            return replace(self, acquisition=_UNDER_LIMITS, repeats=1)
        if name == "lcb":
            known = list_functions(objectives)
            name = known[0] if self._prefers(known[0], space, optimizer) else known[1]
        check_function(name, objectives)
        return replace(self, acquisition=name, repeats=1)

    def choose_kernel(
        self,
        space: SearchSpace,
        optimizer: str | AcquisitionOptimizer,
        by_evidence: bool = True,
        sourced: bool = False,
        pair: bool = False,
    ) -> Settings:
        """The same with the kernel that suits a space, where none is asked for.

        The evidence chooses between kernels where every graph can be scored under each of them
        (docs/decisions/0080-kernel-by-evidence.md), unless it is told not to. Where operations are
        on edges and none of them passes its input on, kernels speak together
        (0132-kernels-together.md), but not with short trainings (``sourced``); where one does, the
        kernel that sees the lengths of paths is among those to choose from
        (0139-lengths-of-paths.md). Both hold for gains of the hypervolume of two values (``pair``,
        0136-kernels-together-on-fronts.md) as well. Elsewhere the exponential kernel is taken, or
        the linear one where that can't be optimised in time, and the linear one can, or a hundred
        times as quickly: it needs a few evaluations more (docs/benchmarks.md), but a proof in
        seconds is worth more than none. While it has learnt nothing, three of five proposals are
        random (0141-one-kernel-that-knows-nothing.md), and a kernel that knows shapes speaks
        instead where it predicts far better (0143-a-stand-in-by-local-search.md).

        Example:
            >>> from nasgoat import ChainSpace, EdgeLabeledSpace, NodeLabeledSpace, nasbench201
            >>> chains = ChainSpace(20, ["conv", "pool", "skip", "wide", "narrow"])
            >>> Settings().choose_kernel(nasbench201(), "auto").kernel
            'evidence'
            >>> Settings().choose_kernel(EdgeLabeledSpace(4, ["conv", "pool"]), "auto").kernel
            'together'
            >>> Settings().choose_kernel(chains, "auto").kernel
            'linear'
            >>> dense, sparse = (
            ...     NodeLabeledSpace(10, ["conv", "pool"], max_edges=edges) for edges in (45, 12)
            ... )
            >>> [Settings().choose_kernel(each, "auto").kernel for each in (dense, sparse)]
            ['linear', 'exponential']
            >>> Settings().choose_kernel(sparse, "auto").explore
            3
            >>> Settings().choose_kernel(nasbench201(), "auto", by_evidence=False).kernel
            'exponential'
        """
        if self.kernel != "exponential":
            return self
        if by_evidence and self._may_choose(space, optimizer):
            return self._leave_open(space, sourced)
        if pair and space.labels_on == "edges" and self._may_choose(space, optimizer):
            gains = self.acquisition in ("lcb", FUNCTIONS_OF_SEVERAL[0])
            return replace(self, kernel=_choose_open_kernel(space)) if gains else self
        return self._add_doubt(by_evidence and not sourced)._choose_alone(space, optimizer)

    def _add_doubt(self, measured: bool) -> Settings:
        """The settings, with some random proposals while the one kernel has learnt nothing."""
        left_open = self.blocks == PAPER_BLOCKS and not self.priors
        return replace(self, explore=EXPLORE) if measured and left_open else self

    def _choose_alone(self, space: SearchSpace, optimizer: str | AcquisitionOptimizer) -> Settings:
        """The same with one kernel: the exponential one if that can be optimised in time."""
        if not isinstance(optimizer, str):
            return self
        if bound_graphs(space) <= LARGEST_CATALOGUE:  # all of it can be scored under any kernel
            return self
        terms = optimizer, self.blocks, self.acquisition
        slow = forecast_seconds(space, self.kernel, *terms)
        if slow <= self.time_limit:
            return self
        linear = forecast_seconds(space, "linear", *terms)
        quick = linear <= _HOPELESS * self.time_limit or linear < slow / _FAR_QUICKER
        return replace(self, kernel="linear") if quick else self

    def _leave_open(self, space: SearchSpace, sourced: bool) -> Settings:
        """The same with kernels that speak together, or that the evidence chooses from."""
        calm = not space.directed and self.sqrt_betas == Settings.sqrt_betas
        betas = CALM_SQRT_BETAS if calm else self.sqrt_betas
        together = space.labels_on == "edges" and self.acquisition == "lcb" and not sourced
        kernel = _choose_open_kernel(space) if together else EVIDENCE
        return replace(self, kernel=kernel, sqrt_betas=betas)

    def _may_choose(self, space: SearchSpace, optimizer: str | AcquisitionOptimizer) -> bool:
        """Whether the kernel is left open, and every graph is scored under any of them."""
        if self.blocks != PAPER_BLOCKS or self.priors:
            return False
        if isinstance(optimizer, str):
            return optimizer == "auto" and bound_graphs(space) <= LARGEST_CHOICE
        return getattr(optimizer, "blocks", None) is None

    def _prefers(
        self, function: str, space: SearchSpace, optimizer: str | AcquisitionOptimizer
    ) -> bool:
        """Whether a function of several objectives is taken if none is asked for.

        Expected hypervolume improvement is where every graph can be scored, which is where it was
        measured (docs/decisions/0094-several-objectives-in-turn.md); bounds do for the others.
        """
        if function != "hypervolume":
            return True
        name = optimizer if isinstance(optimizer, str) else optimizer.name
        if name == "auto":
            return bound_graphs(space) <= LARGEST_CATALOGUE
        return name not in ("branch", *SOLVERS)

    def list_sqrt_betas(self) -> tuple[float, ...]:
        """The √β of a batch, which are taken in turn."""
        return (self.sqrt_beta,) if self.batch_strategy == "top" else self.sqrt_betas

    @property
    def questions(self) -> int:
        """How many acquisition problems one batch solves with the same fitted surrogate."""
        several = self.batch_strategy == "portfolio" and self.acquisition == "lcb"
        return len(self.sqrt_betas) if several else 1

    @property
    def widest_kernel(self) -> tuple[str, tuple[str, ...]]:
        """Form and blocks that the acquisition optimiser is chosen for."""
        if self.kernel in OPEN_KERNELS:
            return "exponential", tuple(block_names())
        return self.kernel, self.blocks

    def find_kernel(
        self, space: SearchSpace, optimizer: str | AcquisitionOptimizer
    ) -> tuple[str, tuple[str, ...]]:
        """Form and blocks that an optimiser of this name is asked for in a space.

        One that works by bounds is asked for those blocks of an open kernel that it can bound
        there: candidates with others do not take part.

        Example:
            >>> from nasgoat import nasbench101
            >>> form, blocks = Settings(kernel="evidence").find_kernel(nasbench101(), "branch")
            >>> form, [name for name in blocks if name not in PAPER_BLOCKS]
            ('exponential', ['operations', 'shape', 'longest', 'lengths'])
        """
        kernel, blocks = self.widest_kernel
        if self.kernel in OPEN_KERNELS and optimizer in ("branch", *SOLVERS):
            blocks = keep_bounded(space, blocks, optimizer in SOLVERS) or PAPER_BLOCKS
        return kernel, blocks

    def find_optimizer(
        self,
        optimizer: str | AcquisitionOptimizer,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
    ) -> AcquisitionOptimizer:
        """The acquisition optimiser of a name for these settings; a ready-made one as it is."""
        if not isinstance(optimizer, str):
            return optimizer
        effort = Effort(time_limit=self.time_limit, memory=self.optimizer_memory)
        kernel, blocks = self.find_kernel(space, optimizer)
        terms = kernel, self.questions, effort, blocks, self.acquisition
        return make_optimizer(optimizer, space, progress, *terms)

    @classmethod
    def preset(cls, name: str, noisy: bool = False, **changes: Any) -> Settings:
        """Settings by name, ``"default"`` or ``"paper"``, with some of them changed.

        Where errors are noisy, the default repeats evaluations; the paper does not.
        """
        if name not in PRESETS:
            raise UnknownNameError("preset", name, PRESETS)
        if noisy and name == "default":
            changes = {"repeats": NOISY_REPEATS, **changes}
        return replace(PRESETS[name], **changes)


#: Named settings: ours, and those of the paper.
PRESETS = {
    "default": Settings(),
    "paper": Settings(
        kernel="linear", target="log", batch_strategy="top", sqrt_beta=3.0, time_limit=1800.0
    ),
}


def list_functions(objectives: Objectives) -> tuple[str, ...]:
    """The acquisition functions of several objectives: that of the hypervolume is of two alone."""
    return FUNCTIONS_OF_SEVERAL if objectives.pair else FUNCTIONS_OF_SEVERAL[1:]


def check_function(name: str, objectives: Objectives) -> None:
    """Refuse an acquisition function that is none of several objectives.

    Example:
        >>> check_function("ei", Objectives.of(["error", "latency"]))
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: the acquisition of 2 objectives must be one of chebyshev,
        epsilon, hypervolume, got 'ei'
    """
    if name not in (known := list_functions(objectives)):
        what = f"the acquisition of {len(objectives.names)} objectives"
        raise UnknownNameError(what, name, known)


def _choose_open_kernel(space: SearchSpace) -> str:
    """The open kernel for operations on edges: by evidence if path lengths count, else together."""
    return EVIDENCE if sees_lengths(space) else TOGETHER

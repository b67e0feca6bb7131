"""How a search decides: surrogate, target and batch, with the paper's choice as a preset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nasgoat.acquisition import AcquisitionOptimizer, make_optimizer
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels import kernel_names
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.target import TARGETS

STRATEGIES = ("portfolio", "top")


@dataclass(frozen=True)
class Settings:
    """What the optimiser does between two batches.

    The defaults are what measured best (docs/decisions/0004-search-defaults.md);
    :meth:`paper` is what the paper does.

    Args:
        kernel: ``"linear"``, ``"exponential"``, or a name that was registered.
        target: What is learnt of the errors: ``"rank"``, ``"log"`` or ``"plain"``.
        noise: Observation noise variance of the scaled target, or ``"fit"``.
        batch_strategy: ``"top"`` takes the graphs of lowest bound at ``sqrt_beta``;
            ``"portfolio"`` takes the best graph for each of ``sqrt_betas`` in turn.
        sqrt_beta: √β of the strategy ``"top"``.
        sqrt_betas: The √β of the strategy ``"portfolio"``.
        restarts: Further random starts of the hyperparameter search.

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

    def __post_init__(self) -> None:
        if self.kernel not in kernel_names():
            raise UnknownNameError("kernel", self.kernel, kernel_names())
        if self.target not in TARGETS:
            raise UnknownNameError("target", self.target, TARGETS)
        if self.batch_strategy not in STRATEGIES:
            raise UnknownNameError("batch strategy", self.batch_strategy, STRATEGIES)
        if not self.sqrt_betas:
            raise SettingError("sqrt_betas must hold at least one number, got none")

    @property
    def questions(self) -> int:
        """How many acquisition problems a batch puts to one fitted surrogate."""
        return len(self.sqrt_betas) if self.batch_strategy == "portfolio" else 1

    def find_optimizer(
        self,
        optimizer: str | AcquisitionOptimizer,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
    ) -> AcquisitionOptimizer:
        """The acquisition optimiser of a name for these settings; a ready-made one as it is."""
        if not isinstance(optimizer, str):
            return optimizer
        return make_optimizer(optimizer, space, progress, self.kernel, self.questions)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Settings:
        """Settings by name, ``"default"`` or ``"paper"``, with some of them changed."""
        if name not in PRESETS:
            raise UnknownNameError("preset", name, PRESETS)
        return replace(PRESETS[name], **changes)


PRESETS = {
    "default": Settings(),
    "paper": Settings(kernel="linear", target="log", batch_strategy="top", sqrt_beta=3.0),
}

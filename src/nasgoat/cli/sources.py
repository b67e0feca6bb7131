"""Options of ``nasgoat search`` about what it learns from beside full trainings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from nasgoat.errors import SettingError

if TYPE_CHECKING:
    from nasgoat.bayesopt import Objectives
    from nasgoat.bayesopt.known import KnownResult
    from nasgoat.evaluation import Fidelities
    from nasgoat.spaces import SearchSpace
    from nasgoat.surrogate import Source


@dataclass(frozen=True)
class Learning:
    """What is learnt from beside full evaluations."""

    fidelity: Annotated[
        str | None,
        typer.Option(
            help="Shorter trainings: epochs=12,50,200, or with costs epochs=12:1,200:10. "
            "--evaluations is then a budget in full trainings."
        ),
    ] = None
    transfer: Annotated[
        list[str] | None,
        typer.Option(
            help="Folder of an earlier run, or a .csv or .json file with graphs and errors; may be "
            "given several times."
        ),
    ] = None

    known: Annotated[
        list[str] | None,
        typer.Option(
            help="Results that you have, learnt from and not evaluated again: a .csv or .json file "
            "with graphs and errors, or the folder of an earlier run; may be given several times."
        ),
    ] = None

    def fidelities(self, method: str) -> Fidelities | None:
        """The fidelities that are asked for; only our own method has them."""
        from nasgoat.evaluation import Fidelities
        from nasgoat.search_methods import OURS

        given = {"--fidelity": self.fidelity, "--transfer": self.transfer, "--known": self.known}
        for option, value in given.items():
            if value and method != OURS:
                raise SettingError(f"{option} must come with the method goat, got {method}")
        return None if self.fidelity is None else Fidelities.parse(self.fidelity)

    def refuse(self, objectives: Objectives) -> None:
        """Refuse to learn from other sources where several values are minimised."""
        for option, value in (("--fidelity", self.fidelity), ("--transfer", self.transfer)):
            if value and not objectives.plain:
                raise SettingError(f"{option} must come with one error to minimise, got several")

    def sources(self, space: SearchSpace) -> tuple[Source, ...]:
        """The other sources that are asked for."""
        from nasgoat.bayesopt.transfer import gather_sources

        return gather_sources(self.transfer or (), space)

    def known_results(self, space: SearchSpace, objectives: Objectives) -> tuple[KnownResult, ...]:
        """What is known before the search."""
        from nasgoat.bayesopt.known import gather_known

        return gather_known(self.known or (), space, objectives)

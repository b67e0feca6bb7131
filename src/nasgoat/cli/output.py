"""What verbs print: one JSON document or text to standard output, progress to standard error."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nasgoat.bayesopt import Evaluation, Events, Iteration, Ticket
    from nasgoat.graphs import LabeledGraph

_HEAD = " iteration  evaluations  best error    regret  certificate   seconds"
_CLEAR = "\r\x1b[K"
_arguments: list[str] | None = None


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output; numbers that JSON lacks are refused."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    # A terminal obeys more than JSON escapes.
    print("".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text))


def show(text: str = "", end: str = "\n") -> None:
    """Print text to standard output for a person, whatever names it holds."""
    print(make_harmless(text), end=end)


def note(line: str) -> None:
    """Print a line of progress to standard error, at once."""
    print(make_harmless(mask_passwords(line)), file=sys.stderr, flush=True)


def make_harmless(text: str) -> str:
    r"""A text that no terminal obeys: labels and messages may hold anything.

    Example:
        >>> make_harmless("a\x1b[2Jb\nc")
        'a?[2Jb\nc'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def format_duration(seconds: float) -> str:
    """Seconds for people.

    Example:
        >>> format_duration(5), format_duration(600), format_duration(7300)
        ('5 s', '10 min', '2.0 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def mask_passwords(text: str) -> str:
    """The text without the password of any storage that was opened."""
    module = sys.modules.get("nasgoat.integrations.storages")
    return text if module is None else str(module.mask_passwords(text))


def command_line() -> str:
    """The command that is running, fit to be typed again, without passwords."""
    return mask_passwords(
        shlex.join(["nasgoat", *(_arguments if _arguments is not None else sys.argv[1:])])
    )


def remember_arguments(arguments: list[str] | None) -> None:
    """Keep the arguments that the command was called with."""
    global _arguments
    _arguments = arguments


class MaskingFormatter(logging.Formatter):
    """Formats records without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return make_harmless(mask_passwords(super().format(record)))


def log_to_file(path: Path) -> None:
    """Write what is logged to a file too, whatever is shown."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(MaskingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    for name in ("nasgoat", "optuna", "distributed"):
        logging.getLogger(name).addHandler(handler)
    logging.getLogger("nasgoat").setLevel(logging.INFO)


class ProgressTable:
    """The progress of a search on standard error: a line a batch, on a terminal also a live one.

    Args:
        evaluations: The budget.
        done: Evaluations that earlier sessions finished.
        regret: The regret of a graph; None where nobody knows it.
    """

    def __init__(
        self, evaluations: int, done: int, regret: Callable[[LabeledGraph], float | None]
    ) -> None:
        self._evaluations = evaluations
        self._done = done
        self._regret = regret
        self._best = float("inf")
        self._live = sys.stderr.isatty()
        note(_HEAD)

    def events(self, proposed: Callable[[Ticket], None] | None = None) -> Events:
        """What the driver calls."""
        from nasgoat.bayesopt import Events

        return Events(self.evaluation, self.failure, self.iteration, proposed)

    def evaluation(self, evaluation: Evaluation) -> None:
        """One evaluation has ended: shown on a terminal until the next line."""
        self._best = min(self._best, evaluation.error)
        self._advance()

    def failure(self, ticket: Ticket) -> None:
        """One evaluation has failed."""
        failure = ticket.outcome and ticket.outcome.failure
        if failure:
            self._say(f"evaluation {ticket.number + 1} failed ({failure.kind}): {failure.reason}")
        self._advance()

    def iteration(self, iteration: Iteration) -> None:
        """A batch has ended."""
        statuses = sorted({str(e.proposal.certificate.status) for e in iteration.batch})
        regret = self._regret(iteration.best.graph)
        shown = f"{'-':>9}" if regret is None else f"{regret:9.3f}"
        self._best = iteration.best.error
        self._say(
            f"{iteration.number:10d} {iteration.evaluations:12d} {iteration.best.error:11.3f} "
            f"{shown}  {'/'.join(statuses) or 'failed':<11} {iteration.seconds:9.1f}"
        )

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

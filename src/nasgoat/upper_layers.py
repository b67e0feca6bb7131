"""What is known of other layers without importing them: functions by purpose, names of solvers.

A lower layer offers its users some things with the help of an upper one. ``nasgoat/__init__.py``,
which knows every package, says where each of these functions lives; it is imported when it is first
asked for.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Solvers of mixed-integer programs that can be named on the command line and in Python.
SOLVERS = ("scip", "gurobi")
#: Ways to write an acquisition problem as a program: the smaller one, and the paper's own.
FORMULATIONS = ("compact", "paper")
_PLACES: dict[str, str] = {}


class ShownAsHtml:
    """What notebooks show as a small table with pictures instead of a line of text."""

    def _repr_html_(self) -> str:
        """The object as HTML, for IPython."""
        html: str = find("write as HTML")(self)
        return html


def connect(places: dict[str, str]) -> None:
    """Say where functions live: ``"module:function"`` by what they do."""
    _PLACES.update(places)


def find(purpose: str) -> Callable[..., Any]:
    """The function that serves a purpose.

    Example:
        >>> find("open a study").__name__
        'open_study'
    """
    module, _, name = _PLACES[purpose].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found

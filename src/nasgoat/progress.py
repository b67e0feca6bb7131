"""Progress: a line when something takes long, so that nothing is silent for more than seconds."""

from __future__ import annotations

import html
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0  # seconds of silence


def show_progress(line: str) -> None:
    """Print a line to standard error if that is a terminal: the default in Python.

    Example:
        >>> show_progress("listing the structures of the space")
    """
    if sys.stderr is not None and sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


def find_progress(progress: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """The default in a notebook: the last line, in one place of the cell's output; else as it is.

    Example:
        >>> find_progress(print) is print
        True
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if progress is not show_progress or not hasattr(shell, "kernel"):
        return progress
    display, handles = sys.modules["IPython.display"], list[Any]()

    def show(line: str) -> None:
        shown = display.HTML(html.escape(line))
        if handles:
            handles[0].update(shown)
        else:
            handles.append(display.display(shown, display_id=True))

    return show


@contextmanager
def say_if_slow(
    progress: Callable[[str], None] | None, words: str, seconds: float | None = None
) -> Iterator[None]:
    """Say what is being done if it is not done after some seconds, ``PATIENCE`` if none are given.

    Example:
        >>> import time
        >>> with say_if_slow(print, "waiting", seconds=0.01):
        ...     time.sleep(0.2)
        waiting
    """
    if progress is None:
        yield
        return
    timer = threading.Timer(PATIENCE if seconds is None else seconds, progress, [words])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def quieten_optuna() -> Iterator[None]:
    """Let Optuna only warn inside: what it tells of its studies is said by nasgoat itself.

    Example:
        >>> import logging
        >>> with quieten_optuna():
        ...     logging.getLogger("optuna").isEnabledFor(logging.INFO)
        False
    """
    optuna = logging.getLogger("optuna")
    level = optuna.level
    optuna.setLevel(logging.WARNING)
    try:
        yield
    finally:
        optuna.setLevel(level)

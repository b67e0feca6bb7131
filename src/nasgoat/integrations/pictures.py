"""Pictures of evaluated cells, drawn beside the search by a process of its own.

A picture that can't be drawn or written costs a line in the log, never the search.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from nasgoat.atomic_file import replace_file
from nasgoat.child_process import ChildProcess
from nasgoat.errors import ChildError
from nasgoat.figures import draw
from nasgoat.graphs import LabeledGraph

logger = logging.getLogger(__name__)

_SECONDS = 60.0  # for one picture
_POLL = 0.1  # seconds between two looks at signals
_RESOLUTION = 80  # dots per inch: a thumbnail, drawn in a third of the time of a full picture


def paint(graph: str, path: str, title: str) -> None:
    """Draw a graph to a PNG file that is there only when it is complete.

    Args:
        graph: The graph as JSON.
        path: The file; its name need not end in ``.png``.
        title: The picture's title.
    """
    figure = draw(LabeledGraph.from_json(graph), title)
    with replace_file(Path(path)) as partial:
        figure.savefig(partial, format="png", dpi=_RESOLUTION, facecolor="white")


class Painter:
    """Draws pictures one after the other, out of the search's way.

    Example:
        >>> import tempfile
        >>> painter, path = Painter(), Path(tempfile.mkdtemp()) / "cell"
        >>> painter.paint(LabeledGraph.from_edges(2, [(0, 1)]), path, "a cell")
        >>> painter.close(seconds=60)
        >>> path.exists()
        True
    """

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[str, str, str] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="nasgoat-pictures")
        self._started = False

    def paint(self, graph: LabeledGraph, path: Path, title: str) -> None:
        """Have a picture drawn unless it is there already."""
        if path.exists():
            return
        if not self._started:
            self._started = True
            self._thread.start()
        self._waiting.put((graph.to_json(), str(path.absolute()), title))

    def close(self, seconds: float, stopping: Callable[[], bool] = lambda: False) -> None:
        """Wait for what is still to be drawn, but no longer than so many seconds."""
        if self._started:
            self._waiting.put(None)
            deadline = time.monotonic() + seconds
            while self._thread.is_alive() and time.monotonic() < deadline and not stopping():
                self._thread.join(_POLL)
            if self._thread.is_alive():
                logger.info("some pictures were not drawn; they will be on resume")

    def _work(self) -> None:
        child = ChildProcess("the picture")
        while (job := self._waiting.get()) is not None:
            try:
                child.ask(paint, *job, seconds=_SECONDS)
            except (ChildError, OSError) as problem:
                logger.warning("a picture could not be drawn: %s", problem)
        child.kill()

"""Results kept case by case, so that a torture that is broken off goes on where it was.

Each case runs in a forked child, which saves the imports: the parent holds no threads and no
connections when it forks, and survives whatever the case does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Result = dict[str, Any]
_LONGEST = 900.0  # seconds for one case


class Record:
    """Results by part and case, one JSON document a line.

    Args:
        path: The file; what it holds is not done again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: dict[tuple[str, str], Result] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            with contextlib.suppress(ValueError):  # the last line of a torture that was killed
                entry = json.loads(line)
                self._kept[entry["part"], entry["case"]] = entry["result"]

    def result(self, part: str, case: str, work: Callable[[], Result]) -> Result:
        """The result of a case: the kept one, or of the work, done now in a child."""
        if (part, case) not in self._kept:
            start = time.monotonic()
            result = in_child(work)
            seconds = round(time.monotonic() - start, 2)
            entry = {"part": part, "case": case, "result": result, "seconds": seconds}
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            self._kept[part, case] = result
        return self._kept[part, case]


def in_child(work: Callable[[], Result]) -> Result:
    """What the work returns in a forked child; ``{"crash": why}`` if it does not."""
    reader, writer = os.pipe()

    def child() -> int:
        os.close(reader)
        os.setpgid(0, 0)
        try:
            result = work()
        except BaseException:
            result = {"crash": traceback.format_exc()}
        with os.fdopen(writer, "w") as pipe:
            json.dump(result, pipe)
        return 0

    process = fork(child)
    os.close(writer)
    ended = False
    try:
        ended = waited(process, _LONGEST)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # with all it left behind
    if not ended:
        os.waitpid(process, 0)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    return json.loads(text) if text else {"crash": f"the case died or took over {_LONGEST:g} s"}


def fork(work: Callable[[], int]) -> int:
    """Do the work in a forked child, which leaves with the code that it returns; its process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        code = 70
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return process


def waited(process: int, seconds: float) -> bool:
    """Wait for a child, but not longer than so many seconds; whether it ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            os.waitpid(process, 0)
            return True
        time.sleep(0.01)
    return False

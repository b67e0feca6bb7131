"""How much memory work may take: by default half of what is free."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_SHARE = 0.5  # of what is free
_UNKNOWN = 4 * 2**30  # bytes, where the system does not say what is free
#: What a control group may take, and has taken, where the process is in one that has a limit.
_GROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))


def measure_free() -> int:
    """Bytes of memory that this process could still take; a guess where the system does not say.

    Example:
        >>> measure_free() > 0
        True
    """
    found: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    with suppress(OSError, ValueError):  # "max" is no number: no limit
        most, held = (int(path.read_text()) for path in _GROUP)
        found.append(most - held)
    return max(min(found, default=_UNKNOWN), 1)


def choose_limit(megabytes: float | None = None) -> float:
    """Bytes that work may take: as many megabytes as asked for, or half of what is free.

    Example:
        >>> choose_limit(2.0)
        2097152.0
    """
    return _SHARE * measure_free() if megabytes is None else megabytes * 2**20

"""Slots: which device and how many threads an evaluation gets, as variables of its environment.

Each thread that evaluates has a slot, the smallest number that no other living thread of the
process holds. The number chooses among the devices in turn, so that N workers on N devices have one
each, and 2N workers share each device by two.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nasgoat.errors import SettingError
from nasgoat.process_tree import THREAD_VARIABLES

#: The number of the slot, from 0; the device of the slot; what CUDA takes the device from.
SLOT, DEVICE, CUDA = "NASGOAT_SLOT", "NASGOAT_DEVICE", "CUDA_VISIBLE_DEVICES"
#: The folder of the run.
FOLDER = "NASGOAT_FOLDER"

_lock = threading.Lock()
_taken: set[int] = set()
_own = threading.local()


class _Seat:
    """A slot while its thread lives."""

    def __init__(self) -> None:
        with _lock:
            self.number = next(number for number in range(len(_taken) + 1) if number not in _taken)
            _taken.add(self.number)
        weakref.finalize(self, _taken.discard, self.number)


def own_slot() -> int:
    """The slot of the calling thread, which it keeps."""
    if getattr(_own, "seat", None) is None:
        _own.seat = _Seat()
    number: int = _own.seat.number
    return number


@dataclass(frozen=True)
class Share:
    """What of the machine each worker gets.

    Args:
        devices: The devices, given to the slots in turn; none for no such choice.
        threads: Threads of numerical libraries in each worker; None for what the environment says,
            or else one.
        folder: The folder of the run, for checkpoints; None if there is none.

    Example:
        >>> Share(("0", "1"), threads=2).variables(slot=3)["CUDA_VISIBLE_DEVICES"]
        '1'
    """

    devices: tuple[str, ...] = ()
    threads: int | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise SettingError(f"threads per worker must be at least 1, got {self.threads}")

    def variables(self, slot: int) -> dict[str, str]:
        """What the environment of the worker in a slot holds beside that of this process."""
        found = {SLOT: str(slot)}
        if self.folder is not None:
            found[FOLDER] = self.folder
        if self.devices:
            device = self.devices[slot % len(self.devices)]
            found |= {DEVICE: device, CUDA: device}
        if self.threads is not None:
            found |= dict.fromkeys(THREAD_VARIABLES, str(self.threads))
        return found

    def describe(self, workers: int, fresh_process: bool = False) -> str:
        """A line that says what each worker's process gets.

        Example:
            >>> Share(("0", "1"), threads=2).describe(2)
            'workers: 2 on devices 0, 1; 2 threads each; a process serves many evaluations'
        """
        threads = self.threads or os.environ.get(THREAD_VARIABLES[0], "1")
        plural = "" if str(threads) == "1" else "s"
        where = f" on device{'s' * (len(self.devices) > 1)} " + ", ".join(self.devices)
        reuse = "every evaluation has a new process"
        if not fresh_process:
            reuse = "a process serves many evaluations"
        return (
            f"workers: {workers}{where if self.devices else ''}; {threads} thread{plural} each; "
            f"{reuse}"
        )


def list_devices(
    gpus: int | str | Sequence[int | str] | None, environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """The devices that ``--gpus`` or ``gpus=`` asks for.

    Args:
        gpus: How many, of those that ``CUDA_VISIBLE_DEVICES`` lists if it is set; or which, as that
            variable names them: ``"0,2"``, ``[0, 2]``. One by its name has a comma: ``"3,"``.
        environment: Where that variable is looked up.

    Example:
        >>> list_devices(2, {}), list_devices("2", {"CUDA_VISIBLE_DEVICES": "4,5,6"})
        (('0', '1'), ('4', '5'))
        >>> list_devices("0,2"), list_devices("3,"), list_devices([1])
        (('0', '2'), ('3',), ('1',))
    """
    if gpus is None:
        return ()
    if isinstance(gpus, str) and gpus.strip().isdigit():
        gpus = int(gpus)
    if isinstance(gpus, int):
        return _count_devices(gpus, environment)
    parts = gpus.removesuffix(",").split(",") if isinstance(gpus, str) else gpus
    names = tuple(str(part).strip() for part in parts)
    if not names or "" in names or len(set(names)) < len(names):
        raise SettingError(f"gpus must be a number or distinct names like 0,1,2,3, got {gpus!r}")
    return names


def _count_devices(number: int, environment: Mapping[str, str]) -> tuple[str, ...]:
    if number < 1:
        raise SettingError(f"gpus must be at least 1, got {number}; leave it out for none")
    if environment.get(CUDA) is None:
        return tuple(map(str, range(number)))
    visible = [name.strip() for name in environment[CUDA].split(",") if name.strip()]
    if number > len(visible):
        raise SettingError(
            f"gpus must be at most the {len(visible)} that {CUDA} lists, got {number}"
        )
    return tuple(visible[:number])

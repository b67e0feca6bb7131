"""The exceptions that nasgoat raises: one root, each leaf also a builtin.

Messages follow one pattern: ``<thing> must <condition>, got <value>[; <remedy>]``.
"""

import difflib
from collections.abc import Iterable


class NasgoatError(Exception):
    """Root of every exception that nasgoat raises on purpose."""


class GraphError(NasgoatError, ValueError):
    """A graph is malformed, or is not in the space it was given to."""


class SpaceError(NasgoatError, ValueError):
    """A search space is empty, unsatisfiable or badly declared."""


class FileError(NasgoatError, ValueError):
    """A file does not say what it should: one line with file, line, key and reason.

    Args:
        file: The file's name.
        line: The line, counted from 1; None if there is none to blame.
        key: The key with its tables, dots in between; empty if there is none to blame.
        said: What the key must be and what it is.
    """

    def __init__(self, file: object, line: int | None, key: str, said: str) -> None:
        place = f"{file}" if line is None else f"{file}:{line}"
        said = f"{key}{said}" if key and said.startswith(":") else f"{key} {said}".lstrip(" :")
        super().__init__(" ".join(f"{place}: {said}".split()))


class SpaceFileError(FileError, SpaceError):
    """A file declares no space."""


class ExperimentFileError(FileError):
    """A file declares no experiment, or a folder holds no records of one."""


class EmptySpaceError(SpaceError):
    """No graph at all satisfies the limits of a space: this is proven, not guessed."""


class ObservationError(NasgoatError, ValueError):
    """An observed value can't be learnt from (NaN, infinite, not a number)."""


class UnknownNameError(NasgoatError, ValueError):
    """A benchmark, dataset, kernel, optimiser or preset has no such name.

    Args:
        kind: What is named.
        name: The name that was given.
        valid: The names that there are.
        said: What stands for them in the message, where they are too many for a line.
    """

    def __init__(
        self, kind: str, name: object, valid: Iterable[str], said: str | None = None
    ) -> None:
        names = sorted(valid)
        near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"{kind} must be one of {said or ', '.join(names)}, got {name!r}{hint}")


class SettingError(NasgoatError, ValueError):
    """A setting is outside what it may be."""


class DataError(NasgoatError, RuntimeError):
    """A benchmark's table is missing, damaged or lacks what was asked for."""


class NoDataError(DataError, ValueError):
    """A file that a call names, or a table that it needs, is not there or not what it should be."""


class SurrogateError(NasgoatError, RuntimeError):
    """The Gaussian process can't be fitted, or its matrix is too ill-conditioned to search with."""


class TooLargeError(NasgoatError, RuntimeError):
    """A space is too large to be enumerated."""


class SolverLostError(NasgoatError, RuntimeError):
    """A solver crashed or outgrew its memory; a search falls back to a heuristic."""


class ChildError(NasgoatError, RuntimeError):
    """A child process gave no answer."""


class ChildTimeoutError(ChildError):
    """A child did not answer in time and was killed."""


class ChildMemoryError(ChildError):
    """A child used more memory than allowed and was killed."""


class ChildLostError(ChildError):
    """A child died."""


class ChildFailedError(ChildError):
    """What a child was asked to do raised an exception; the child lives on."""


class ChildAnswerError(ChildError):
    """What a child answered can't be used: it is too long, or answers another question."""


class ObjectiveError(NasgoatError, RuntimeError):
    """The objective fails: at its first evaluation, or several times in a row."""


class WorkersLostError(NasgoatError, RuntimeError):
    """Every worker, or whatever hands out their work, is gone."""


class StudyError(NasgoatError, ValueError):
    """A stored study is damaged, is another one than the call asks for, or is in use."""


class StorageError(NasgoatError, RuntimeError):
    """A study can't be written: the disk is full, the database is gone."""


class ReportError(NasgoatError, ValueError):
    """There is nothing to report, or the report can't be written where it was asked for."""


class MissingPackageError(NasgoatError, ValueError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f'{package} must be installed for this; run pip install "nasgoat[{extra}]"'
        )


class ModelError(NasgoatError, RuntimeError):
    """A model contradicts the surrogate: a fault of ours that must not pass in silence."""

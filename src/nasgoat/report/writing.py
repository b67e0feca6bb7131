"""Writing a report: whole or not at all, and never over somebody's file."""

from __future__ import annotations

from pathlib import Path

from nasgoat.atomic_file import write_whole
from nasgoat.errors import ReportError
from nasgoat.report.page import MARK

_HEAD = 4096  # bytes in which a report says that it is one


def write_report(html: str, path: Path) -> None:
    """Write a report; an earlier one is replaced.

    Raises:
        ReportError: If something that is no report is there, or the file can't be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "notes.html"
        >>> _ = path.write_text("my notes")
        >>> write_report("<html/>", path)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        nasgoat.errors.ReportError: the output must be a new file or an earlier report, got ...
    """
    if path.exists() and not is_report(path):
        raise ReportError(
            f"the output must be a new file or an earlier report, got {path}; give another --output"
        )
    try:
        write_whole(path, html, durable=False)
    except OSError as problem:
        reason = problem.strerror or problem
        raise ReportError(f"the output {path} must be writable, got {reason}") from None


def is_report(path: Path) -> bool:
    """Whether a file is a report of ours."""
    try:
        with path.open("rb") as file:
            return MARK.encode() in file.read(_HEAD)
    except OSError:
        return False

"""What verbs print: one JSON document or text to standard output, progress to standard error."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output; numbers that JSON lacks are refused."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def note(line: str) -> None:
    """Print a line of progress to standard error, at once."""
    print(line, file=sys.stderr, flush=True)


def fresh_folder(wanted: Path) -> Path:
    """Create a folder of this name, or with a number behind it if that is taken."""
    folder, number = wanted, 1
    while True:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
            folder = wanted.with_name(f"{wanted.name}-{number}")
        else:
            return folder


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is either the old one or the whole new one."""
    partial = path.with_name(path.name + ".part")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)

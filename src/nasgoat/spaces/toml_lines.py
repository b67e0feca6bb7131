"""On which line of a TOML text each key stands: the standard parser does not say."""

from __future__ import annotations

import re

_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_HEADER = re.compile(r"^\s*\[\[?([^\[\]]*)\]\]?\s*(?:#.*)?$")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
Path = tuple[str, ...]


def key_lines(text: str) -> dict[Path, int]:
    r"""The line, counted from 1, of every table and key; the first one if a key is repeated.

    Example:
        >>> key_lines('[space]\nnodes = [\n  2,\n  7]\nops = ["a"]')
        {('space',): 1, ('space', 'nodes'): 2, ('space', 'ops'): 5}
    """
    found: dict[Path, int] = {}
    table: Path = ()
    open_until = ""  # the end of a string of several lines
    depth = 0  # of brackets that go over several lines
    for number, line in enumerate(text.splitlines(), start=1):
        if not open_until and depth == 0:
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                table = _path(header.group(1))
                found.setdefault(table, number)
                continue
            if key:
                found.setdefault((*table, *_path(key.group(1))), number)
        open_until, depth = _after(line, open_until, depth)
    return found


def _path(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _after(line: str, open_until: str, depth: int) -> tuple[str, int]:
    """What is open at the end of a line: a string and brackets."""
    place = 0
    while place < len(line):
        if open_until:
            end = line.find(open_until, place)
            if end < 0:
                return (open_until if len(open_until) == 3 else ""), depth
            place, open_until = end + len(open_until), ""
            continue
        for mark in ('"""', "'''", '"', "'"):
            if line.startswith(mark, place):
                open_until, place = mark, place + len(mark)
                break
        else:
            if line[place] == "#":
                break
            depth += (line[place] in "[{") - (line[place] in "]}")
            place += 1
    return (open_until if len(open_until) == 3 else ""), max(depth, 0)

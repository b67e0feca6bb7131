"""TOML read into dataclasses: whatever is wrong is one line with file, line and key.

A caller says which keys a table may have and what each holds (:class:`Value`), reads them with
:meth:`TomlDocument.read`, and hands them to a dataclass with :meth:`TomlDocument.build`. Keys that
the dataclass has no default for must be there; what its constructor refuses is reported at the key
that the message mentions.
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from nasgoat.errors import FileError, NasgoatError

_MOST_BYTES = 1_000_000
_MOST_SHOWN = 60  # characters of a wrong value that a message repeats
_LARGEST_SHOWN = 10**50  # Python refuses to write integers of thousands of digits
_NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_HEADER = re.compile(r"^\s*\[\[?([^\[\]]*)\]\]?\s*(?:#.*)?$")

Keys = tuple[str, ...]
Made = TypeVar("Made")


@dataclass(frozen=True)
class Value:
    """What a key may hold.

    Args:
        said: How a message says it, after "must be".
        holds: Whether a value is of this sort.
        convert: Turns the value into what the dataclass takes.
    """

    said: str
    holds: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value


TEXT = Value("text", lambda value: isinstance(value, str))
FLAG = Value("true or false", lambda value: isinstance(value, bool))
WHOLE = Value("a whole number", lambda value: isinstance(value, int) and not FLAG.holds(value))
NUMBER = Value("a number", lambda value: WHOLE.holds(value) or isinstance(value, float))
FINITE = Value(
    "a finite number", lambda value: NUMBER.holds(value) and abs(value) <= sys.float_info.max
)
TABLE = Value("a table", lambda value: isinstance(value, dict))


def list_of(value: Value, said: str) -> Value:
    """A list of at least one value of a sort.

    Example:
        >>> list_of(FINITE, "costs").said, list_of(FINITE, "costs").holds([1, float("nan")])
        ('a list of costs, at least one', False)
    """
    return Value(
        f"a list of {said}, at least one",
        lambda items: isinstance(items, list) and bool(items) and all(map(value.holds, items)),
    )


def read_text(path: str | Path, error: type[FileError]) -> str:
    """The text of a file of moderate size.

    Raises:
        FileError: Of the given type, if there is no such file or no text in it.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise error(path, None, "", f"must be readable, got {problem.strerror}") from None
    if len(content) > _MOST_BYTES:
        said = f"must have at most {_MOST_BYTES:,} bytes, got {len(content):,}"
        raise error(path, None, "", said)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line, byte = content[: problem.start].count(b"\n") + 1, content[problem.start]
        raise error(path, line, "", f"must be UTF-8, got byte 0x{byte:02x}") from None


class TomlDocument:
    r"""A parsed text; errors about it name file, line and key.

    Args:
        file: What messages call it.
        text: The TOML text.
        error: The type of the errors to raise.

    Example:
        >>> document = TomlDocument("my.toml", "[table]\nkye = 1", FileError)
        >>> document.read(("table",), {"key": WHOLE})
        Traceback (most recent call last):
        nasgoat.errors.FileError: my.toml:2: table.kye must be one of key, got 'kye'; did you mean
        key?
    """

    def __init__(self, file: str, text: str, error: type[FileError]) -> None:
        self.file, self.error = file, error
        self.content = _parse(text, file, error)
        self.lines = find_key_lines(text)

    def table(self, path: Keys, required: bool = False) -> dict[str, Any]:
        """A copy of a table; empty if it is not there and need not be."""
        found: Any = self.content
        for i, key in enumerate(path, start=1):
            if key not in found and required:
                raise self.make_error((), f"must have a table [{'.'.join(path)}], got none")
            found = found.get(key, {})
            if not isinstance(found, dict):
                raise self.refuse_value(path[:i], "must be a table", found)
        return dict(found)

    def read(self, path: Keys, values: Mapping[str, Value]) -> dict[str, Any]:
        """The content of a table, each value checked and converted; other keys are refused."""
        table = self.table(path)
        self.check_keys(path, table, values)
        for key, value in table.items():
            if not values[key].holds(value):
                raise self.refuse_value((*path, key), f"must be {values[key].said}", value)
        return {key: values[key].convert(value) for key, value in table.items()}

    def read_choice(
        self, path: Keys, key: str, valid: Collection[str], spelt: Mapping[str, str] | None = None
    ) -> str:
        """The valid name that a key must hold; ``spelt`` are other spellings of such names."""
        table = self.table(path, required=True)
        if key not in table:
            raise self.make_error(path, f"must have the key {key}: {', '.join(valid)}, got none")
        name = table[key]
        if not isinstance(name, str):
            raise self.refuse_value((*path, key), "must be text", name)
        name = (spelt or {}).get(name, name)
        self._check_name((*path, key), name, valid)
        return name

    def build(self, make: Callable[..., Made], path: Keys, content: Mapping[str, Any]) -> Made:
        """The dataclass ``make`` with the content that was read from a table."""
        for field in fields(make):  # type: ignore[arg-type]
            needed = field.default is MISSING and field.default_factory is MISSING
            if needed and field.name not in content:
                raise self.make_error(path, f"must have the key {field.name}, got none")
        try:
            return make(**content)
        except NasgoatError as problem:
            raise self.refuse(path, content, problem) from None

    def check_keys(self, path: Keys, table: Collection[str], valid: Collection[str]) -> None:
        """Refuse keys that are not among the valid ones."""
        for key in table:
            self._check_name((*path, key), key, valid)

    def _check_name(self, path: Keys, name: str, valid: Collection[str]) -> None:
        if name not in valid:
            near = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            demand = f"must be one of {', '.join(sorted(valid)) or '(none)'}"
            raise self.refuse_value(path, demand, name, hint)

    def refuse_value(self, path: Keys, demand: str, value: Any, hint: str = "") -> FileError:
        """The error of a key that holds a wrong value."""
        huge = WHOLE.holds(value) and abs(value) >= _LARGEST_SHOWN
        shown = "a huge number" if huge else repr(value)
        if len(shown) > _MOST_SHOWN:
            shown = shown[: _MOST_SHOWN - 1] + "…"
        return self.make_error(path, f"{demand}, got {shown}{hint}")

    def refuse(self, path: Keys, content: Collection[str], problem: NasgoatError) -> FileError:
        """What a constructor refuses, at the first key of a table that its message mentions."""
        said = str(problem)
        found = {key: re.search(rf"\b{re.escape(key)}\b", said) for key in content}
        places = {match.start(): key for key, match in found.items() if match}
        first = [places[min(places)]] if places else []
        return self.make_error((*path, *first), f": {said}")

    def make_error(self, path: Keys, said: str) -> FileError:
        """The error of a key, at its line or at that of the table around it."""
        ends = range(len(path), 0, -1)
        line = next((self.lines[path[:end]] for end in ends if path[:end] in self.lines), 1)
        return self.error(self.file, line, ".".join(path), said)


def _parse(text: str, file: str, error: type[FileError]) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error(file, 1, "", "must not be nested so deeply") from None
    except ValueError as problem:  # TOMLDecodeError is one; so is a number of too many digits
        said = str(problem)
        where = re.search(r"\(at line (\d+), column \d+\)", said)
        line = int(where.group(1)) if where else len(text.splitlines())
        reason = re.sub(r"\s*\(at .*\)$", "", said).rstrip(".;").split(";")[0]
        raise error(file, line, "", f"must be TOML, got {reason}") from None


def find_key_lines(text: str) -> dict[Keys, int]:
    r"""The line, counted from 1, of every table and key, which the standard parser does not say.

    Example:
        >>> find_key_lines('[space]\nnodes = [\n  2,\n  7]\nops = ["a"]')
        {('space',): 1, ('space', 'nodes'): 2, ('space', 'ops'): 5}
    """
    found: dict[Keys, int] = {}
    table: Keys = ()
    open_until, depth = "", 0  # the mark that ends an open string, and open brackets
    for number, line in enumerate(text.splitlines(), start=1):
        if not open_until and depth == 0:
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                table = _split_key(header.group(1))
                found.setdefault(table, number)
            elif key:
                found.setdefault((*table, *_split_key(key.group(1))), number)
        open_until, depth = _scan_line(line, open_until, depth)
    return found


def _split_key(dotted: str) -> Keys:
    return tuple(part.strip("\"'") for part in re.findall(_NAME, dotted))


def _scan_line(line: str, open_until: str, depth: int) -> tuple[str, int]:
    """What is open at the end of a line: a string, by the mark that ends it, and brackets."""
    place = 0
    while place < len(line):
        if open_until:
            end = line.find(open_until, place)
            if end < 0:
                break
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

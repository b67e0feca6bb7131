"""Figure 2, second part: space files and limit expressions."""

from __future__ import annotations

import contextlib
import io
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.torture.fuzz import in_portions, judged
from benchmarks.torture.hangs import Hang, no_longer_than
from benchmarks.torture.record import Record
from tests.declared_cells import DECLARED_CELLS

from nasgoat import cli
from nasgoat.spaces import list_presets, read_preset_text

_VALUES = (
    "nan", "inf", "-inf", "-1", "0", "1e400", "-0.0", "9" * 40, "9" * 5000, "true", "''", '"x"',
    "[]", "[[]]", "[2, 5, 9]", "[5, 2]", "{}", "{ a = 1 }", "1979-05-27T07:32:00Z", "0x7fffffff",
    '"\\u0000"', '"<script>"', '"../../etc"', "[nan, inf]", "['a', 'a']", '"' + "x" * 9999 + '"',
    "[" * 3000 + "]" * 3000, "{a=" * 900 + "1" + "}" * 900, "0.1", "64", "[1, 1]", "[2, 40]",
    "'''\n'''", "[true]", "[1979-05-27]", "2", "1_000",
)  # fmt: skip
_KEYS = ("nodes", "ops", "kind", "limits", "costs", "fixed", "degree", "name", "x", '"a.b"', "é")
_JUNK = "[]{}=\"'.,#\n\t\r -+<>*019aenospx_\\\x00\x1b\u202e\ud7ff"
_WORDS = (
    "conv3x3", "conv1x1", "maxpool3x3", "edges", "nodes", "depth", "+", "-", "*", "<=", ">=", "==",
    "<", "=", "(", ")", "1", "2.5", "1e309", "-3", "1e-320", "nan", "inf", "sum(params)", "sum(",
    "node:conv3x3", "edge:conv3x3", "'conv3x3'", '"', "'", "**", "//", "%", "lambda: 0", "a.b",
    "__import__('os').system('touch pwned')", "open('pwned','w')", "().__class__.__bases__[0]",
    "[x for x in ()]", "exec", "9" * 400, "0x10", "1_0", "\x00", "\n", "é", "f'{1}'", ";", "0",
)  # fmt: skip


def documents(count: int, record: Record) -> tuple[bool, str]:
    """Damaged space files: read, or refused in one line that names file and line."""
    found = in_portions(record, "TOML documents", count, 250, _work(_document))
    return judged(f"{count} TOML documents", found, ("exit 0", "exit 2"))


def limits(count: int, record: Record) -> tuple[bool, str]:
    """Wild limits in a sound file: read, or refused in one line; never evaluated."""
    found = in_portions(record, "limit expressions", count, 250, _work(_limited))
    return judged(f"{count} limit expressions", found, ("exit 0", "exit 2"))


def _work(make: Callable[[random.Random], bytes]) -> Callable[[int, int], Counter[str]]:
    def work(start: int, stop: int) -> Counter[str]:
        found: Counter[str] = Counter()
        checked: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for i in range(start, stop):
                rng = random.Random(i)  # noqa: S311 no secret
                Path("space.toml").write_bytes(make(rng))
                code, declared = _said("describe")
                if code == "exit 0":  # read: then looked at closely, once for each space
                    if declared not in checked:
                        checked[declared] = _said("check")[0]
                    code = checked[declared]
                found[code] += 1
            if {path.name for path in Path().iterdir()} != {"space.toml"}:
                found["evaluated"] += 1
        return found

    return work


def _said(verb: str) -> tuple[str, str]:
    """What a verb of ``nasgoat space`` came to with the file, and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), no_longer_than():
            code = cli.run(["space", verb, "space.toml"])
    except Hang:
        return "hangs", ""
    except Exception:
        return "tracebacks", ""
    said = err.getvalue()
    if code == 2 and said.count("\n") != 1:
        return "refusals of several lines", ""
    if code == 2 and "space.toml:" not in said and "the limits must leave" not in said:
        return "refusals without a place", ""
    return f"exit {code}", out.getvalue()


def _document(rng: random.Random) -> bytes:
    text = rng.choice([DECLARED_CELLS, DECLARED_CELLS, *map(read_preset_text, list_presets())])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        text = rng.choice([_other_value, _other_key, _cut, _cut, _doubled])(text, rng)
    content = text.encode("utf-8", "surrogatepass")
    kind = rng.random()
    if kind < 0.03:
        return rng.randbytes(rng.randint(0, 300))
    if kind < 0.08:
        place = rng.randrange(len(content) + 1)
        return content[:place] + rng.randbytes(rng.randint(1, 4)) + content[place:]
    return content


def _other_value(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if "=" in line]
    if places:
        i = rng.choice(places)
        lines[i] = f"{lines[i].partition('=')[0]}= {rng.choice(_VALUES)}"
    return "\n".join(lines)


def _other_key(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    i = rng.randrange(len(lines) + 1)
    new = f"{rng.choice(_KEYS)} = {rng.choice(_VALUES)}"
    if rng.random() < 0.3:
        new = f"[{rng.choice(_KEYS)}]"
    return "\n".join([*lines[:i], new, *lines[i:]])


def _cut(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text) + 1)
    stop = min(len(text), start + rng.choice([0, 1, 2, 5, 12, 60]))
    junk = "".join(rng.choice(_JUNK) for _ in range(rng.choice([0, 1, 2, 6])))
    return text[:start] + junk + text[stop:]


def _doubled(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    i = rng.randrange(len(lines))
    return "\n".join([*lines[:i], lines[i], *lines[i:]])


def _limited(rng: random.Random) -> bytes:
    if rng.random() < 0.3:  # a sound limit, to reach what comes behind the grammar
        op = rng.choice(["conv3x3", "conv1x1", "edges", "depth", "nodes", "sum(params)"])
        sense, bound = rng.choice(["<=", ">=", "=="]), rng.choice(["0", "1", "3", "-1", "1e9"])
        limit = f"{op} + {rng.randint(-2, 3)}*conv1x1 {sense} {bound}"
    else:
        limit = rng.choice(["", " "]).join(rng.choice(_WORDS) for _ in range(rng.randint(0, 9)))
    if rng.random() < 0.02:
        limit *= 500
    escaped = "".join(f"\\u{ord(c):04x}" if c in '"\\' or ord(c) < 32 else c for c in limit)
    text = read_preset_text("nb101").rstrip()
    return f'{text}\n[limits]\nwild = "{escaped}"\n[costs.params]\nconv3x3 = 2.0\n'.encode()

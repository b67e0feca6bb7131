"""Runs the code blocks of a Markdown page from top to bottom, in one folder and one namespace.

| block | what happens |
|---|---|
| any language with ``title="name"`` | is written to the file of that name |
| ``python`` | runs |
| ``pycon`` | runs; what it prints is compared, ``...`` stands for anything |
| ``console`` | each ``$ command`` runs, without a shell; output is compared where it is shown |
| ``toml`` with a table ``[space]`` | must declare a space |
| any other | is only shown |

A command may fail only if the output that the page shows ends with nasgoat's own line, which may
continue on indented lines.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import runpy
import shlex
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nasgoat.cli import run as main
from nasgoat.evaluation import allow_children
from nasgoat.spaces import parse_space

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_OUR_LINE = re.compile(r"^nasgoat: .*(\n +.*)*\s*\Z", re.MULTILINE)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SECONDS = 300  # a command that hangs must not hang the tests


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    title: str | None
    code: str
    place: str

    @property
    def runs(self) -> bool:
        """Whether the block does anything but stand there."""
        return self.language in ("python", "pycon", "console") or "[space]" in self.code


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        title = _TITLE.search(match[2])
        place = f"{page.name}, line {text[: match.start()].count(chr(10)) + 1}"
        found.append(Block(match[1], title and title[1], match[3], place))
    return found


@dataclass
class PageRun:
    """What the blocks of one page share: a folder, and the names they define."""

    folder: Path
    names: dict[str, Any] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        """Run a block, or write it to its file."""
        if block.title is not None:
            (self.folder / block.title).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            self._python(block)
        elif block.language == "pycon":
            self._session(block)
        elif block.language == "console":
            self._console(block)
        if block.language == "toml" and "[space]" in block.code:
            parse_space(block.code, block.place)

    def _python(self, block: Block) -> None:
        script = self.folder / f"_{re.sub(r'[^a-z0-9]+', '_', block.place)}.py"
        script.write_text(block.code, encoding="utf-8")
        made = runpy.run_path(str(script), self.names)
        self.names |= {name: value for name, value in made.items() if not name.startswith("__")}

    def _session(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.code, self.names, block.place, block.place, 0
        )
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=_FLAGS)
        runner.run(test, out=said.append, clear_globs=False)
        assert not runner.failures, "".join(said)
        self.names |= test.globs

    def _console(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
            command, _, wanted = part.replace("\\\n", " ").partition("\n")
            self._command(shlex.split(command, comments=True), wanted, block.place)

    def _command(self, command: list[str], wanted: str, place: str) -> None:
        code, printed = self._ours(command[1:]) if command[0] == "nasgoat" else self._other(command)
        said = f"{place}: {shlex.join(command)} printed\n{printed}\nexit code {code}"
        fails = _OUR_LINE.search(wanted) is not None
        assert (code != 0) == fails, said
        if wanted.strip():
            assert matches(wanted, printed), f"{said}\nwanted\n{wanted}"

    def _ours(self, arguments: list[str]) -> tuple[int, str]:
        """Run ``nasgoat`` in this process: a new one would import everything again."""
        allow_children()
        said = io.StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                code = main(arguments)
        finally:
            allow_children()
        return code, said.getvalue()

    def _other(self, command: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        # Dask logs connections that close as a cluster ends: no part of what a page shows.
        return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def matches(wanted: str, printed: str) -> bool:
    """Whether a text is as wanted, white space aside; ``...`` stands for anything or nothing.

    Example:
        >>> matches("a ... d", "a b\\nc  d"), matches("...\\nb", "b"), matches("a", "a b")
        (True, True, False)
    """
    parts = re.split(r" ?\.\.\. ?", " ".join(wanted.split()))
    pattern = ".*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, " ".join(printed.split())) is not None

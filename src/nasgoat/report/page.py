"""The frame of a report, one HTML file that asks the network for nothing, and how it is written.

The policy in its head forbids every request, and every script and style but the two that the file
brings along, which are named by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from nasgoat.errors import NasgoatError, ReportError
from nasgoat.figures.colours import DARK, LIGHT
from nasgoat.report.markup import Child, Html, code_block, element, escape, join
from nasgoat.safe_files import write_whole

#: What the head of every report holds, so that a report is told from somebody's file.
MARK = '<meta name="generator" content="nasgoat report"/>'
_HEAD = 4096  # bytes in which a report says that it is one


@dataclass(frozen=True)
class Section:
    """A part of a report: its anchor, its heading and what stands under it."""

    identity: str
    title: str
    body: Html

    def html(self) -> Html:
        """The section with its heading."""
        name = f"{self.identity}-heading"
        heading = element("h2", self.title, id=name)
        return element("section", heading, self.body, id=self.identity, aria_labelledby=name)


@dataclass(frozen=True)
class Fact:
    """A figure that one wants to see first."""

    name: str
    value: str
    more: str = ""


def build_page(make: Callable[[], str], refuse: Callable[[Exception], NasgoatError]) -> str:
    """Make a page; an exception that damaged records cause becomes the error of ``refuse``."""
    try:
        return make()
    except NasgoatError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as problem:
        raise refuse(problem) from None


def show_command(command: str | None, again: str) -> Html | None:
    """The command behind a report, and what it does when it is called again."""
    if not command:
        return None
    lead = element("p", "The command, exactly as it was called last:")
    return join(lead, code_block(command, "Command", copy=True), element("p", again))


def make_page(
    title: str, kicker: str, lede: Child, facts: Sequence[Fact], sections: Sequence[Section]
) -> str:
    """The whole file.

    Args:
        title: Of the report.
        kicker: The line above the title: what kind of report it is.
        lede: What was done and what came of it, in a few sentences.
        facts: The figures one wants to see first.
        sections: The parts.

    Example:
        >>> make_page("A < B", "Demo", "Text.", [], []).count("A &lt; B")
        2
    """
    footer = (
        f"Written by nasgoat {version('nasgoat')}. This file is complete: it asks the network for "
        "nothing and can be kept, sent and printed."
    )
    links = [element("li", element("a", s.title, href=f"#{s.identity}")) for s in sections]
    body = join(
        element("a", "Skip to the content", class_="skip", href="#content"),
        element(
            "header",
            element("p", kicker, class_="kicker"),
            element("h1", element("bdi", title)),
            element("p", lede, class_="lede"),
            _list_facts(facts),
            element("nav", element("ul", links), aria_label="Sections") if links else None,
        ),
        "\n",
        element("main", [join(s.html(), "\n") for s in sections], id="content", tabindex=-1),
        element("footer", element("p", footer)),
    )
    style = write_picture_style() + read_template("report.css")
    script = read_template("report.js")
    policy = escape(_write_policy(style, script))
    return Template(read_template("page.html")).substitute(
        title=escape(title), policy=policy, style=style, script=script, body=body
    )


def _list_facts(facts: Sequence[Fact]) -> Html | None:
    """Facts side by side."""
    items = []
    for fact in facts:
        more = element("small", fact.more) if fact.more else None
        items.append(element("div", element("dt", fact.name), element("dd", fact.value, more)))
    return element("dl", items, class_="facts") if items else None


@cache
def read_template(name: str) -> str:
    """A file of the folder ``templates``."""
    return (files("nasgoat.report") / "templates" / name).read_text(encoding="utf-8")


def write_picture_style() -> str:
    """All that pictures of cells need: the colours, a class for each of them, and the rest.

    Example:
        >>> ".s1, .o1 { --c: var(--c1); }" in write_picture_style()
        True
    """
    light, dark = (
        ":root { " + " ".join(f"--c{i}: {shade};" for i, shade in enumerate(shades)) + " }"
        for shades in (LIGHT, DARK)
    )
    classes = [f".s{i}, .o{i} {{ --c: var(--c{i}); }}" for i in range(len(LIGHT))]
    dark = f"@media (prefers-color-scheme: dark) {{ {dark} }}"
    return "\n".join([light, dark, *classes, read_template("cells.css")])


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


def _write_policy(style: str, script: str) -> str:
    digests = [hashlib.sha256(text.encode()).digest() for text in (style, script)]
    one, two = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    own = f"style-src {one}; script-src {two}; img-src data:"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"

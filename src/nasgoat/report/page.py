"""The frame of a report: one HTML file that asks the network for nothing.

The policy in its head forbids every request, and every script and style but the two that the file
brings along, which are named by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from nasgoat.report.markup import Child, Html, element, escape, join

#: What the head of every report holds, so that a report is told from somebody's file.
MARK = '<meta name="generator" content="nasgoat report"/>'


@dataclass(frozen=True)
class Section:
    """A part of a report: its anchor, its heading and what stands under it."""

    identity: str
    title: str
    body: Html

    def html(self) -> Html:
        """The section with its heading."""
        heading = element("h2", self.title, id=f"{self.identity}-heading")
        return element(
            "section",
            heading,
            self.body,
            id=self.identity,
            aria_labelledby=f"{self.identity}-heading",
        )


@dataclass(frozen=True)
class Fact:
    """A figure that one wants to see first."""

    name: str
    value: str
    more: str = ""


def page(
    title: str,
    kicker: str,
    lede: Child,
    facts: Sequence[Fact],
    sections: Sequence[Section],
    footer: Child,
) -> str:
    """The whole file.

    Args:
        title: Of the report.
        kicker: The line above the title: what kind of report it is.
        lede: What was done and what came of it, in a few sentences.
        facts: The figures one wants to see first.
        sections: The parts.
        footer: The last line.

    Example:
        >>> page("A < B", "Demo", "Text.", [], [], "End.").count("A &lt; B")
        2
    """
    links = [element("li", element("a", s.title, href=f"#{s.identity}")) for s in sections]
    body = join(
        element("a", "Skip to the content", class_="skip", href="#content"),
        element(
            "header",
            element("p", kicker, class_="kicker"),
            element("h1", element("bdi", title)),
            element("p", lede, class_="lede"),
            facts_list(facts),
            element("nav", element("ul", links), aria_label="Sections") if links else None,
        ),
        "\n",
        element("main", [join(s.html(), "\n") for s in sections], id="content", tabindex=-1),
        element("footer", element("p", footer)),
    )
    style, script = template("report.css"), template("report.js")
    return Template(template("page.html")).substitute(
        title=escape(title), policy=escape(_policy(style, script)), style=style, body=body,
        script=script,
    )  # fmt: skip


def facts_list(facts: Sequence[Fact]) -> Html | None:
    """Facts side by side."""
    if not facts:
        return None
    items = [
        element(
            "div",
            element("dt", fact.name),
            element("dd", fact.value, element("small", fact.more) if fact.more else None),
        )
        for fact in facts
    ]
    return element("dl", items, class_="facts")


@cache
def template(name: str) -> str:
    """The text of a file that comes with the package."""
    return (files("nasgoat.report") / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

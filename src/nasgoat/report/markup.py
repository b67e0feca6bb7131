"""HTML and SVG as values, and tables of it: every text is escaped unless it is markup already.

What is written is also well-formed XML, so a strict parser can check it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from nasgoat.figures.wording import cut

_LONG_TABLE = 40  # rows; a longer table scrolls in its box
_VOID = frozenset({"br", "hr", "img", "link", "meta", "wbr"})
# Characters that no document may hold, that change the direction of the text around them, or that
# only pretend to be nothing.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ufeff\ud800-\udfff\ufffe\uffff]"
)


class Html(str):
    """Markup that needs no escaping."""

    __slots__ = ()


Child: TypeAlias = "Html | str | int | float | Iterable[Child] | None"
Attribute: TypeAlias = "str | int | float | bool | None"


def escape(text: str) -> Html:
    r"""A text as markup; characters that a page can't show become U+FFFD.

    Example:
        >>> escape("<b> & \x00\u202e")
        '&lt;b&gt; &amp; ��'
    """
    shown = _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)
    return Html(html.escape(shown))


def join(*children: Child) -> Html:
    """Several children one after the other."""
    return Html("".join(_write_text(child) for child in children))


def element(name: str, *children: Child, **attributes: Attribute) -> Html:
    """One element; ``class_`` becomes class and ``aria_label`` aria-label.

    An attribute that is None or False is left out; True is written as an empty one.

    Example:
        >>> element("p", "a < b", element("br"), class_="note", hidden=True)
        '<p class="note" hidden="">a &lt; b<br/></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_format_value(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(*children)}</{name}>")


def label(text: str, longest: int = 80) -> Html:
    """A text from outside, cut, in whatever direction its script runs."""
    return element("bdi", cut(text, longest))


def region(tag: str, *children: Child, name: str, class_: str) -> Html:
    """A box with a name that scrolls where it has no room, with the keyboard as well."""
    return element(tag, *children, class_=class_, role="region", tabindex=0, aria_label=name)


def code_block(text: str, name: str, copy: bool = False) -> Html:
    """Text as it stands, in a box that wraps and scrolls; with a button to copy it if asked."""
    return region("pre", text, name=name, class_="wrap copy" if copy else "wrap")


def details(summary: str, *children: Child) -> Html:
    """A part that opens with a click on its summary."""
    return element("details", element("summary", summary), *children)


def pairs(items: Iterable[tuple[Child, Child]]) -> Html:
    """Names and values in two columns."""
    lines = [join(element("dt", name), element("dd", value)) for name, value in items]
    return element("dl", lines, class_="pairs")


def legend(items: Iterable[tuple[Html, Child]]) -> Html:
    """A list of names, each beside its mark: SVG of 18 by 14 pixels."""
    small: dict[str, Attribute] = {"class": "swatch", "viewBox": "0 0 18 14", "aria-hidden": "true"}
    lines = [element("li", element("svg", mark, **small), name) for mark, name in items]
    return element("ul", lines, class_="legend")


@dataclass(frozen=True)
class Column:
    """A column: its heading, whether it holds numbers, and whether its texts may be long."""

    name: str
    numeric: bool = True
    long: bool = False


def table(
    caption: Child,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Child]],
    name: str,
    sortable: bool = False,
    best: int | None = None,
) -> Html:
    """A table in a box that can be scrolled with the keyboard.

    Args:
        caption: What the table shows.
        columns: Its columns.
        rows: The cells of its rows; the first one of each is the row's heading.
        name: What a screen reader calls the box.
        sortable: Whether its headings sort it where scripts run.
        best: The row that is marked.

    Example:
        >>> html = table("Squares", [Column("x"), Column("x²")], [["2", "4"]], "Squares")
        >>> '<th scope="row" class="n">2</th><td class="n">4</td>' in html
        True
    """
    kinds = ["n" if column.numeric else "text" if column.long else None for column in columns]
    heads = [element("th", c.name, scope="col", class_="n" if c.numeric else None) for c in columns]
    inside = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", heads)),
        element("tbody", [_write_row(row, kinds, i == best) for i, row in enumerate(rows)]),
        class_="sortable" if sortable else None,
    )
    class_ = "scroll tall" if len(rows) > _LONG_TABLE else "scroll"
    return region("div", inside, name=name, class_=class_)


def _write_row(row: Sequence[Child], kinds: Sequence[str | None], best: bool) -> Html:
    head = element("th", row[0], scope="row", class_=kinds[0])
    rest = [element("td", x, class_=kind) for x, kind in zip(row[1:], kinds[1:], strict=True)]
    return element("tr", head, rest, class_="best" if best else None)


def _write_text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(child)
    if isinstance(child, int | float):
        return _format_value(child)
    return "".join(map(_write_text, child))


def _format_value(value: Attribute) -> str:
    if value is True:
        return ""
    if isinstance(value, float):
        # A tenth of a pixel is enough, and "-0" must not depend on rounding.
        return f"{value:.1f}".removesuffix(".0").replace("-0", "0", value > -0.05)
    return escape(str(value))

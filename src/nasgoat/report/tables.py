"""Tables in boxes that scroll, so that the page never does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nasgoat.report.markup import Child, Html, element

_LONG = 40  # rows; a longer table scrolls in its box


@dataclass(frozen=True)
class Column:
    """A column: its heading, whether it holds numbers, and whether its texts may be long."""

    name: str
    numeric: bool = True
    long: bool = False


@dataclass(frozen=True)
class Row:
    """The cells of a row, the first of which is its heading, and the row's class."""

    cells: Sequence[Child]
    kind: str | None = None


def table(
    caption: Child,
    columns: Sequence[Column],
    rows: Sequence[Row],
    name: str,
    sortable: bool = False,
) -> Html:
    """A table in a box that can be scrolled with the keyboard.

    Args:
        caption: What the table shows.
        columns: Its columns.
        rows: Its rows.
        name: What a screen reader calls the box.
        sortable: Whether its headings sort it where scripts run.

    Example:
        >>> html = table("Squares", [Column("x"), Column("x²")], [Row(["2", "4"])], "Squares")
        >>> '<th scope="row" class="n">2</th><td class="n">4</td>' in html
        True
    """
    heads = [
        element("th", column.name, scope="col", class_="n" if column.numeric else None)
        for column in columns
    ]
    inside = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", heads)),
        element("tbody", [_row(row, columns) for row in rows]),
        class_="sortable" if sortable else None,
    )
    class_ = "scroll tall" if len(rows) > _LONG else "scroll"
    return element("div", inside, class_=class_, role="region", aria_label=name, tabindex=0)


def _row(row: Row, columns: Sequence[Column]) -> Html:
    cells = []
    for i, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
        class_ = "n" if column.numeric else "text" if column.long else None
        if i == 0:
            cells.append(element("th", cell, scope="row", class_=class_))
        else:
            cells.append(element("td", cell, class_=class_))
    return element("tr", cells, class_=row.kind)

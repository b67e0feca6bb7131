"""What a notebook shows of graphs, proposals, pools, results and spaces: pictures, small tables.

Pictures are whole SVG files with the style of the report's, inside HTML as images: no style of ours
meets one of the notebook's.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from nasgoat.acquisition import Pool, Proposal
from nasgoat.bayesopt import Evaluation, SearchResult
from nasgoat.errors import NasgoatError
from nasgoat.figures.colours import list_operations
from nasgoat.figures.wording import cut, describe_graph, format_number, format_percent
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.molecules import find_bonds
from nasgoat.report.cells import assign_classes, draw_cell
from nasgoat.report.markup import Child, Column, Html, element, join, table
from nasgoat.report.page import write_picture_style
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.declared_values import say_range

_ROWS = 10  # of a table; the rest is counted
_COUNTED = 100_000  # graphs at most of a space that is counted at once
_SAMPLE = 4  # graphs that are drawn of a space
_POSTERIOR = tuple(map(Column, ("lcb", "mean", "std", "bound", "gap")))


def draw_graph(
    graph: LabeledGraph, classes: dict[str, str] | None = None, large: bool = True
) -> str:
    """A graph as an SVG file.

    Example:
        >>> draw_graph(LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["conv"]))[:40]
        '<svg xmlns="http://www.w3.org/2000/svg" '
    """
    classes = assign_classes(list_operations([graph])) if classes is None else classes
    return _stand_alone(draw_cell(graph, classes, "graph", "A graph", large))


def _stand_alone(svg: Html) -> str:
    """A picture of the report's as a file of its own, with its style."""
    head, _, rest = svg.removeprefix("<svg ").partition(">")
    style = f"{write_picture_style()} svg {{ background: var(--card); }}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head}><style>{style}</style>{rest}'


@singledispatch
def write_html(thing: object) -> str:
    """A proposal, pool, search result or space as HTML."""
    raise NotImplementedError(f"no HTML for {type(thing).__name__}")


@write_html.register
def _(proposal: Proposal) -> str:
    columns = [Column("status", numeric=False), *_POSTERIOR]
    row = [str(proposal.certificate.status), *_list_posterior(proposal)]
    return join(_show(proposal.graph), table("Proposal", columns, [row], "Proposal"))


@write_html.register
def _(pool: Pool) -> str:
    return _tabulate(
        f"Pool of {len(pool)}, {pool.certificate.status}",
        [Column("place"), Column("graph", numeric=False), *_POSTERIOR],
        [p.graph for p in pool],
        [[str(i + 1), *_list_posterior(p)] for i, p in enumerate(pool)],
    )


@write_html.register
def _(result: SearchResult) -> str:
    best = sorted(result.evaluations, key=lambda e: (e.error, e.number))
    lead = element("p", "; ".join(result.summarise()))
    if not best:
        return lead
    graphs = [e.graph for e in best]
    picture = _show(graphs[0], assign_classes(list_operations(graphs)))
    names = ("evaluation", "graph", "error", "lcb", "mean", "std", "bound", "gap")
    columns = [Column(name, numeric=name != "graph") for name in names]
    rows = [_list_evaluation(e) for e in best]
    shown = _tabulate("Evaluations, best first", columns, graphs, rows)
    return join(lead, picture, shown)


@write_html.register
def _(space: SearchSpace) -> str:
    ops = space.vocabulary().ops
    most = space.size_bound()
    few = most <= _COUNTED
    facts: list[tuple[str, str]] = [
        ("kind", space.kind or type(space).__name__),
        ("nodes", say_range(space.sizes)),
        ("operations", ", ".join(ops)),
        ("limits", ", ".join(limit.text for limit in space.limits)),
        ("graphs" if few else "graphs, at most", f"{space.count() if few else most:,}"),
    ]
    rows = [[name, value] for name, value in facts if value]
    columns = [Column("", numeric=False), Column("", numeric=False)]
    try:
        drawn = space.sample(_SAMPLE, np.random.default_rng(0))
    except NasgoatError:  # limits that leave no graph, or none that can be found
        drawn = []
    classes = assign_classes(space.labels)
    pictures = [_show(graph, classes, large=False) for graph in drawn]
    legend = _explain(classes) if _need_legend(drawn) else None
    return join(table(space.describe(), columns, rows, "Space"), pictures, legend)


def _tabulate(
    caption: str,
    columns: Sequence[Column],
    graphs: Sequence[LabeledGraph],
    rows: Sequence[Sequence[Child]],
) -> Html:
    """The first rows of a table, each with the picture of its graph in the second column."""
    classes = assign_classes(list_operations(graphs))
    shown = [
        [row[0], _show(graph, classes, large=False), *row[1:]]
        for graph, row in zip(graphs[:_ROWS], rows, strict=False)
    ]
    more = len(rows) - len(shown)
    rest = element("p", f"and {more} more") if more else None
    legend = _explain(classes) if _need_legend(graphs) else None
    return join(table(caption, columns, shown, caption), rest, legend)


def _need_legend(graphs: Sequence[LabeledGraph]) -> bool:
    """Whether operations on edges are told apart by colours alone; bonds are by their lines."""
    return any(graph.edge_labels and find_bonds(graph) is None for graph in graphs)


def _explain(classes: dict[str, str]) -> Html:
    """The colours and dashes of operations on edges, which small pictures do not name."""
    lines = []
    for i, (name, class_) in enumerate(classes.items()):
        y = 20 * i + 14
        mark = element("path", d=f"M4 {y - 4}H44", class_=f"edge {class_}")
        lines.append(join(mark, element("text", cut(name, 60), x=52, y=y)))
    svg = element("svg", element("g", lines), width=500, height=20 * len(classes) + 4)
    return element("p", _embed(_stand_alone(svg), "Operations: " + ", ".join(classes)))


def _list_evaluation(evaluation: Evaluation) -> list[Child]:
    number, error = str(evaluation.number + 1), format_number(evaluation.error)
    return [number, error, *_list_posterior(evaluation.proposal)]


def _list_posterior(proposal: Proposal) -> list[str]:
    given = proposal.certificate
    values = (proposal.lcb, proposal.mean, proposal.std, given.bound)
    return [*map(format_number, values), format_percent(given.gap)]


def _show(graph: LabeledGraph, classes: dict[str, str] | None = None, large: bool = True) -> Html:
    """A picture of a graph inside HTML."""
    return _embed(draw_graph(graph, classes, large), describe_graph(graph))


def _embed(svg: str, said: str) -> Html:
    data = base64.b64encode(svg.encode()).decode()
    return element("img", src=f"data:image/svg+xml;base64,{data}", alt=said)

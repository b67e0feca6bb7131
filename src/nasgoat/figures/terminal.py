"""Pictures of labelled graphs in plain text: nodes are columns, each edge is a row."""

from __future__ import annotations

from nasgoat.graphs import LabeledGraph

_NARROWEST = 5
_LONGEST = 24


def ladder(graph: LabeledGraph) -> str:
    """The graph as text, one column per node and one row per edge.

    Example:
        >>> cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)], ["input", "conv", "output"])
        >>> print(ladder(cell))
        input  conv   output
          │      │      │
          ├─────▶│      │
          ├──────┼─────▶│
          │      ├─────▶│
    """
    ordered = graph.sorted_topologically() if graph.is_acyclic() else graph
    names = _names(ordered)
    labels = {edge: _shown(x) for edge, x in (ordered.edge_labels or {}).items()}
    # Each column holds its name; each edge's label fits between its two columns.
    widths = [max(len(name), _NARROWEST) + 2 for name in names]
    for (u, v), label in labels.items():
        lack = len(label) + 6 - sum(widths[min(u, v) : max(u, v)])
        widths[min(u, v)] += max(lack, 0)
    starts = [sum(widths[:v]) for v in range(ordered.n)]
    bars = [start + 2 for start in starts]
    head = "".join(name.ljust(width) for name, width in zip(names, widths, strict=True))
    rows = [_row(bars, edge, labels.get(edge, ""), ordered.directed) for edge in ordered.edges]
    return "\n".join([head.rstrip(), _row(bars, None, "", True), *rows])


def _names(graph: LabeledGraph) -> list[str]:
    if graph.node_labels is None:
        return [f"({v})" for v in range(graph.n)]
    return [_shown(label) for label in graph.node_labels]


def _shown(label: str) -> str:
    text = "".join(c if c.isprintable() else "?" for c in label)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _row(bars: list[int], edge: tuple[int, int] | None, label: str, directed: bool) -> str:
    line = [" "] * (bars[-1] + 1)
    for bar in bars:
        line[bar] = "│"
    if edge is not None:
        left, right = sorted((bars[edge[0]], bars[edge[1]]))
        for x in range(left + 1, right):
            line[x] = "┼" if line[x] == "│" else "─"
        line[left], line[right] = ("├", "│") if directed else ("├", "┤")
        if directed:
            head, arrow = (right - 1, "▶") if edge[0] < edge[1] else (left + 1, "◀")
            line[head] = arrow
            if edge[0] > edge[1]:
                line[left], line[right] = "│", "┤"
        if label:
            text = f" {label} "
            line[left + 2 : left + 2 + len(text)] = text
    return "".join(line)

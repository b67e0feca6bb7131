"""Numbers and labels for people: the same value is always shown the same way."""

from __future__ import annotations

import math

from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.molecules import describe_molecule

NOTHING = "–"


def format_number(value: float | None, digits: int = 3) -> str:
    """A number with this many decimals; very small and very large ones with a power of ten.

    Example:
        >>> [format_number(x) for x in (None, 0.0, -1.23456, 12345.6, 4.2e-7, 3e9)]
        ['–', '0.000', '−1.235', '12345.600', '4.20e−7', '3.00e+9']
    """
    if value is None or not math.isfinite(value):
        return NOTHING if value is None else str(value)
    if value != 0 and not 10.0 ** (1 - digits) / 2 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return _set_minus(f"{mantissa}e{int(exponent):+d}")
    return _set_minus(f"{value:.{digits}f}")


def format_fixed(value: float | None, digits: int = 3) -> str:
    """A number with this many decimals, however small it is.

    Example:
        >>> [format_fixed(x) for x in (None, -0.00001, 1.5)]
        ['–', '0.000', '1.500']
    """
    if value is None or not math.isfinite(value) or abs(value) >= 1e6:
        return format_number(value, digits)
    return _set_minus(f"{round(value, digits) + 0.0:.{digits}f}")


def format_short(value: float) -> str:
    """A round number in as few characters as it takes.

    Example:
        >>> [format_short(x) for x in (0.0, -0.25, 1000.0, 2e-5, 1e6)]
        ['0', '−0.25', '1000', '2e−5', '1e6']
    """
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return _set_minus(f"{value:.10g}")
    mantissa, _, exponent = f"{value:e}".partition("e")
    return _set_minus(f"{float(mantissa):g}e{int(exponent)}")


def format_percent(share: float | None) -> str:
    """A share in percent; 100 % only if it is all.

    Example:
        >>> [format_percent(x) for x in (None, 0.5, 0.999, 1.0)]
        ['–', '50 %', '99.9 %', '100 %']
    """
    if share is None:
        return NOTHING
    shown = math.floor(1000 * share + 1e-9) / 10
    return f"{shown:g} %"


def format_duration(seconds: float) -> str:
    """A time span in its two largest units.

    Example:
        >>> [format_duration(x) for x in (0.04, 12.34, 75.0, 7322.0, 200000.0)]
        ['0.04 s', '12.3 s', '1 min 15 s', '2 h 2 min', '2 d 7 h']
    """
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def format_count(count: int, thing: str) -> str:
    """A count with its noun.

    Example:
        >>> format_count(1, "cell"), format_count(1200, "cell")
        ('1 cell', '1,200 cells')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def _set_minus(text: str) -> str:
    return text.replace("-", "−")


def cut(text: str, longest: int) -> str:
    """A text of at most this many characters.

    Example:
        >>> cut("separable convolution", 9)
        'separabl…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cut_to_printable(text: str, longest: int) -> str:
    r"""At most this many characters in one line, a question mark for each that can't be shown.

    Example:
        >>> cut_to_printable("a\x1b[2J\n", 80)
        'a?[2J?'
    """
    return cut("".join(c if c.isprintable() else "?" for c in text), longest)


def make_plain(text: str, longest: int) -> str:
    r"""Text that matplotlib shows as it is: one line, cut, no formulas, no control characters.

    Example:
        >>> print(make_plain("$x$", 80))
        \$x\$
    """
    return cut_to_printable(text, longest).replace("\\", "\\\\").replace("$", r"\$")


def describe_graph(graph: LabeledGraph) -> str:
    """The graph as a sentence.

    Example:
        >>> labels = ["input", "conv", "output"]
        >>> describe_graph(LabeledGraph.from_edges(3, [(0, 1), (1, 2)], labels))
        '3 nodes: 0 input, 1 conv, 2 output; 2 edges: 0 to 1, 1 to 2'
        >>> describe_graph(LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["pool"]))
        '2 nodes; 1 edge: 0 to 1 pool'
    """
    if graph.cells:
        return "; ".join(f"{name}: {describe_graph(cell)}" for name, cell in graph.cells.items())
    smiles = describe_molecule(graph)
    nodes, edges = format_count(graph.n, "node"), format_count(len(graph.edges), "edge")
    if graph.node_labels is not None:
        nodes += ": " + ", ".join(f"{v} {cut(x, 40)}" for v, x in enumerate(graph.node_labels))
    link = "to" if graph.directed else "with"
    named = ", ".join(
        f"{u} {link} {v}" + (f" {cut(graph.edge_labels[u, v], 40)}" if graph.edge_labels else "")
        for u, v in graph.edges
    )
    said = f"{nodes}; {edges}" + (f": {named}" if named else "")
    return f"{smiles}: {said}" if smiles else said

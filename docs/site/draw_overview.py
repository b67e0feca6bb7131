"""Draws the one picture of what nasgoat is: ``python docs/site/draw_overview.py``.

The same four cards in two arrangements, for wide pages and for phones. Colours are variables: the
site sets them for light and dark; elsewhere the reader's system does.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FOLDER = Path(__file__).parents[1] / "images"
TITLE = "What nasgoat does: train, learn, minimise exactly, propose with proof, and again"
STYLE = """\
.ng { --card: #ffffff; --line: #c3cad5; --ink: #1f2937; --soft: #5b6675; --hub: #eef2fb;
  --main: #3257b8; --band: #c9d6f5; --good: #1a7f4b; --cut: #a9b2bf;
  font-family: system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif }
@media (prefers-color-scheme: dark) { .ng { --card: #1c2230; --line: #4a5568; --ink: #e6eaf2;
  --soft: #a7b1c2; --hub: #232c42; --main: #8fb0ff; --band: #34456f; --good: #58c98d;
  --cut: #5d6778 } }
.ng .card { fill: var(--card); stroke: var(--line); stroke-width: 1.5 }
.ng .hub { fill: var(--hub); stroke: var(--main); stroke-width: 1.5; stroke-dasharray: 5 4 }
.ng .t { font-size: 18px; font-weight: 650; fill: var(--ink) }
.ng .s { font-size: 14px; fill: var(--soft) }
.ng .n { font-size: 14px; fill: var(--ink); font-variant-numeric: tabular-nums }
.ng .g { font-size: 14px; font-weight: 650; fill: var(--good) }
.ng .e { stroke: var(--soft); stroke-width: 1.6; fill: none }
.ng .flow { stroke: var(--main); stroke-width: 2.5; fill: none }
.ng .tip { fill: var(--main) }
.ng .mean { stroke: var(--main); stroke-width: 2.5; fill: none }
.ng .band { fill: var(--band) }
.ng .low { stroke: var(--good); stroke-width: 2; stroke-dasharray: 5 4; fill: none }
.ng .dot { fill: var(--ink) } .ng .win { fill: var(--good) } .ng .off { fill: var(--cut) }
.ng .cut { stroke: var(--cut); stroke-width: 1.6; stroke-dasharray: 3 4; fill: none }
.ng .x { stroke: var(--cut); stroke-width: 2 }
.ng .a { fill: #0072b2 } .ng .b { fill: #d55e00 } .ng .c { fill: #009e73 }
.ng .o { fill: var(--soft) }"""
#: Mini cells: the classes of their nodes from input to output, and their edges.
CELLS = (
    ("oabo", ((0, 1), (1, 2), (2, 3), (0, 3))),
    ("oacbo", ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4))),
    ("obbo", ((0, 1), (0, 2), (1, 3), (2, 3))),
)
PLACES = {
    4: ((0, 12), (22, 2), (44, 22), (66, 12)),
    5: ((0, 12), (20, 0), (20, 24), (44, 12), (66, 12)),
}
WIDE = {"train": (0, 0), "learn": (420, 0), "minimise": (420, 330), "propose": (0, 330)}
TALL = {"train": (0, 0), "learn": (0, 264), "minimise": (0, 642), "propose": (0, 906)}


def cell(number: int, x: float, y: float) -> str:
    """A mini cell of about 66 by 24."""
    kinds, edges = CELLS[number]
    places = PLACES[len(kinds)]
    lines = "".join(
        f'<path class="e" d="M{places[u][0]} {places[u][1]} L{places[v][0]} {places[v][1]}"/>'
        for u, v in edges
    )
    nodes = "".join(
        f'<circle class="{kind}" cx="{px}" cy="{py}" r="6"/>'
        for kind, (px, py) in zip(kinds, places, strict=True)
    )
    return f'<g transform="translate({x} {y})">{lines}{nodes}</g>'


def text(x: float, y: float, said: str, style: str = "s", anchor: str = "start") -> str:
    """A line of text."""
    return f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{said}</text>'


def card(title: str, said: str, inside: str) -> str:
    """A card of 300 by 220."""
    frame = '<rect class="card" width="300" height="220" rx="14"/>'
    return frame + text(20, 34, title, "t") + text(20, 56, said) + inside


def train_card() -> str:
    """Evaluated cells with their errors."""
    rows = ((0, "8.9 %", 82), (1, "8.5 %", 126), (2, "11.2 %", 170))
    inside = "".join(cell(i, 30, y) + text(260, y + 17, said, "n", "end") for i, said, y in rows)
    return card("Train", "your function returns an error", inside)


def learn_card() -> str:
    """A Gaussian process on a line: observations, mean, band of one σ, and μ - 2 σ."""
    x, seen, y = np.linspace(0, 1, 53), np.array([0.08, 0.42, 0.66]), np.array([0.2, -0.9, 0.3])
    gram, cross = _similarity(seen, seen) + 1e-4 * np.eye(3), _similarity(x, seen)
    mean = cross @ np.linalg.solve(gram, y)
    std = np.sqrt(1.0 - np.einsum("ij,ji->i", cross, np.linalg.solve(gram, cross.T)))
    upper, lower = _line(x, mean + std), _line(x[::-1], (mean - std)[::-1])
    dots = "".join(
        f'<circle class="dot" cx="{u:.1f}" cy="{v:.1f}" r="5"/>' for u, v in _at(seen, y)
    )
    lines = f'<path class="mean" d="M{_line(x, mean)}"/>'
    lines += f'<path class="low" d="M{_line(x, mean - 2 * std)}"/>'
    inside = f'<path class="band" d="M{upper} L{lower} Z"/>{lines}{dots}'
    said = text(20, 206, "lower confidence bound: μ − √β σ")
    return card("Learn", "Gaussian process on shortest paths", inside + said)


def _similarity(x: Array, y: Array) -> Array:
    found: Array = np.exp(-(np.subtract.outer(x, y) ** 2) / (2 * 0.14**2))
    return found


def _at(x: Array, y: Array) -> list[tuple[float, float]]:
    """Places in the card of points of the plot."""
    return [(20 + 260 * u, 116 - 27 * v) for u, v in zip(x, y, strict=True)]


def _line(x: Array, y: Array) -> str:
    return " L".join(f"{u:.1f} {v:.1f}" for u, v in _at(x, y))


def minimise_card() -> str:
    """A search tree most of which is cut."""
    kept = "M150 84 L90 118 M90 118 L122 152 M122 152 L122 176"
    lost = "M150 84 L216 118 M90 118 L58 152 M216 118 L190 152 M216 118 L244 152"
    crosses = "".join(
        f'<path class="x" d="M{x - 5} {y - 5} l10 10 m0 -10 l-10 10"/>'
        for x, y in ((216, 118), (58, 152))
    )
    nodes = "".join(
        f'<circle class="dot" cx="{x}" cy="{y}" r="5"/>'
        for x, y in ((150, 84), (90, 118), (122, 152))
    )
    leaf = '<circle class="win" cx="122" cy="178" r="7"/>'
    inside = f'<path class="e" d="{kept}"/><path class="cut" d="{lost}"/>{crosses}{nodes}{leaf}'
    said = text(150, 183, "lowest of all", "g")
    return card("Minimise exactly", "every graph is found or ruled out", inside + said)


def propose_card() -> str:
    """A proposal with its certificate."""
    inside = cell(1, 30, 84) + text(130, 102, "optimal", "g")
    rows = (("value", "−2.113", 138), ("bound", "−2.113", 162), ("gap", "0 %", 186))
    inside += "".join(
        text(30, y, name) + text(190, y, value, "n", "end") for name, value, y in rows
    )
    return card("Propose with proof", "each graph has its certificate", inside)


def hub(width: int) -> str:
    """Your space, which everything refers to."""
    frame = f'<rect class="hub" width="{width}" height="70" rx="35"/>'
    said = text(36, 32, "Your space of graphs", "t") + text(
        36, 53, "operations, sizes, hard limits"
    )
    cells = cell(0, width - 106, 23) + cell(2, width - 196, 23) if width > 400 else ""
    return frame + said + cells


def overview(
    places: dict[str, tuple[int, int]],
    flows: str,
    centre: tuple[int, int, int],
    size: tuple[int, int],
    name: str,
) -> str:
    """The whole picture."""
    made = {
        "train": train_card,
        "learn": learn_card,
        "minimise": minimise_card,
        "propose": propose_card,
    }
    cards = "\n".join(
        f'<g transform="translate({x} {y})">{made[key]()}</g>' for key, (x, y) in places.items()
    )
    x, y, width = centre
    return f"""<svg xmlns="http://www.w3.org/2000/svg" class="ng ng-{name}"
 viewBox="-2 -2 {size[0] + 4} {size[1] + 4}" role="img" aria-label="{TITLE}">
<title>{TITLE}</title>
<style>
{STYLE}
.ng-{name} .flow {{ marker-end: url(#ng-tip-{name}) }}
</style>
<defs><marker id="ng-tip-{name}" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6"
 markerHeight="6" orient="auto"><path class="tip" d="M0 0 L10 5 L0 10 z"/></marker></defs>
{cards}
<g transform="translate({x} {y})">{hub(width)}</g>
{flows}
</svg>
"""


def flow(path: str) -> str:
    """An arrow."""
    return f'<path class="flow" d="{path}"/>'


def pictures() -> dict[str, str]:
    """The files' names with their contents."""
    wide = [
        flow("M306 110 H412"),
        flow("M664 226 V322"),
        flow("M414 440 H308"),
        flow("M56 324 V228"),
    ]
    wide.append(
        text(360, 98, "errors", anchor="middle") + text(360, 428, "best 5", anchor="middle")
    )
    tall = [flow(f"M150 {y} V{y + 34}") for y in (225, 489, 603, 867)]
    tall.append(flow("M302 1010 H330 V110 H308"))
    return {
        "overview.svg": overview(WIDE, "\n".join(wide), (120, 240, 480), (720, 550), "wide"),
        "overview-tall.svg": overview(TALL, "\n".join(tall), (0, 528, 300), (336, 1126), "tall"),
    }


if __name__ == "__main__":
    for name, content in pictures().items():
        (FOLDER / name).write_text(content, encoding="utf-8")

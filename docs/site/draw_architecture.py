"""Draws the way of the data through the packages: ``python -m docs.site.draw_architecture``."""

from pathlib import Path

from docs.site.draw_overview import STYLE, flow, text

FILE = Path(__file__).parents[1] / "images" / "architecture.svg"
TITLE = "From a space to proposals: which package does what, and where yours goes"
#: Package, what it does, what to add there; place and size of its box.
BOXES = (
    ("spaces", "structures, labels, limits, names", "+ a space: CellSpace", 0, 0, 270, 96),
    ("kernels", "graphs as rows of features", "+ a kernel", 325, 0, 200, 96),
    ("surrogate", "Gaussian process, posterior", "", 580, 0, 240, 96),
    (
        "acquisition",
        "lower confidence bound, k best",
        "+ an acquisition function",
        580,
        150,
        240,
        96,
    ),
    ("catalogue", "acquisition.catalogue", "", 0, 300, 195, 88),
    ("branch and bound", "acquisition.branch", "+ an optimiser", 208, 300, 195, 88),
    ("MIP", "formulations, solvers", "", 416, 300, 195, 88),
    ("mutation, sampling", "acquisition.candidates", "", 625, 300, 195, 88),
    ("bayesopt", "ask, tell, the loop, its ledger", "", 270, 440, 280, 88),
    ("evaluation", "your objective, in processes", "+ an objective", 0, 440, 215, 88),
    ("cli, report", "integrations: Optuna, Dask", "", 605, 440, 215, 88),
)
FLOWS = (
    flow("M272 48 H317"),
    flow("M527 48 H572"),
    flow("M700 98 V142"),
    *(flow(f"M700 248 V272 H{x} V292") for x in (97, 305, 513, 722)),
    *(f'<path class="flow line" d="M{x} 390 V412 H410"/>' for x in (97, 305, 513, 722)),
    flow("M410 412 V432"),
    flow("M268 466 H223"),
    flow("M217 506 H262"),
    flow("M552 484 H597"),
    '<path class="flow low" d="M40 158 V292"/>',
)


def box(name: str, said: str, yours: str, x: float, y: float, width: float, height: float) -> str:
    """A package, what it does, and what of yours goes there."""
    frame = f'<rect class="card" width="{width}" height="{height}" rx="12"/>'
    inside = text(16, 28, name, "t") + text(16, 51, said) + text(16, 76, yours, "g")
    return f'<g transform="translate({x} {y})">{frame}{inside}</g>'


def picture() -> str:
    """The whole picture."""
    boxes = "\n".join(box(*content) for content in BOXES)
    words = (
        text(16, 130, "every optimiser works on the", "s")
        + text(16, 149, "description of the space alone", "s")
        + text(424, 430, "pool of proposals, each with its certificate", "n")
        + text(226, 458, "graph", "n")
        + text(230, 524, "error", "n")
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" class="ng ng-house"
 viewBox="-2 -2 824 532" role="img" aria-label="{TITLE}">
<title>{TITLE}</title>
<style>
{STYLE}
.ng-house .t {{ font-size: 15px }} .ng-house .s {{ font-size: 13px }}
.ng-house .n {{ font-size: 13px }} .ng-house .g {{ font-size: 13px }}
.ng-house .flow {{ marker-end: url(#ng-tip-house) }}
.ng-house .line {{ marker-end: none }}
</style>
<defs><marker id="ng-tip-house" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6"
 markerHeight="6" orient="auto"><path class="tip" d="M0 0 L10 5 L0 10 z"/></marker></defs>
{boxes}
{"".join(FLOWS)}
{words}
</svg>
"""


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")

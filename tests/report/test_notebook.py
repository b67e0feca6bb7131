"""What a notebook shows: whole pictures, escaped tables, progress in place, and the tutorial."""

import base64
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nasgoat
from nasgoat import LabeledGraph
from nasgoat.acquisition import make_optimizer, random_problem
from nasgoat.errors import MissingPackageError
from nasgoat.figures import draw
from nasgoat.spaces import SearchSpace, list_presets, preset
from tests.documentation.page_run import Block, PageRun
from tests.graph_spaces import DECLARED
from tests.report.studies import HOSTILE, hostile_space

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"
SPACE = nasgoat.EdgeLabeledSpace(nodes=4, ops=["conv", "pool", "wide"])


def count_edges(cell: LabeledGraph) -> dict[str, Any]:
    return {"error": 5.0 + len(cell.edges), "epochs": 3}


@pytest.fixture(scope="module")
def result() -> nasgoat.SearchResult:
    return nasgoat.search(count_edges, SPACE, evaluations=20, initial=10, progress=None)


def read_pictures(html: str) -> list[ET.Element]:
    ET.fromstring(f"<body>{html}</body>")  # noqa: S314 well-formed, our own
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return [ET.fromstring(base64.b64decode(data)) for data in found]  # noqa: S314


@pytest.mark.parametrize("space", [*map(preset, list_presets()), *DECLARED, hostile_space()])
def test_a_graph_is_a_whole_svg_file_with_every_node(space: SearchSpace) -> None:
    graph = space.sample(1, np.random.default_rng(0))[0]
    picture = ET.fromstring(graph._repr_svg_())  # noqa: S314
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    boxes = [str(part.get("class")) for part in picture.iter() if part.tag.endswith("rect")]
    assert sum(name.startswith("node") for name in boxes) == graph.n
    style = next(part for part in picture if part.tag.endswith("style")).text or ""
    assert "--c1:" in style
    assert ".edge {" in style


@pytest.mark.parametrize("space", [*map(preset, list_presets()), hostile_space()])
def test_a_space_shows_its_description_and_some_graphs(space: SearchSpace) -> None:
    html = space._repr_html_()
    colours = space.edge_vocabulary and "double" not in space.edge_vocabulary  # bonds have none
    assert len(read_pictures(html)) == 4 + bool(colours)
    assert f"{space.count() if space.size_bound() < 100_000 else space.size_bound():,}" in html


def test_a_space_that_limits_leave_empty_is_still_shown() -> None:
    html = SPACE.constrain("edges >= 6", "conv >= 6", "pool >= 1")._repr_html_()
    assert not read_pictures(html)
    assert "pool &gt;= 1" in html


def test_showing_a_space_loads_neither_optuna_nor_matplotlib() -> None:
    code = (
        "import sys, nasgoat; nasgoat.load_space('nb201')._repr_html_(); "
        "print([name for name in ('optuna', 'matplotlib.figure') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_a_pool_and_its_proposals_show_pictures_and_certificates() -> None:
    acquisition = random_problem(SPACE, observations=5).acquisition
    pool = make_optimizer("catalogue", SPACE).optimize(acquisition, k=12)
    html = pool._repr_html_()
    assert len(read_pictures(html)) == 11  # a legend at the end
    assert "Pool of 12, optimal" in html
    assert "and 2 more" in html
    shown = pool[0]._repr_html_()
    assert len(read_pictures(shown)) == 1
    assert "optimal" in shown
    assert len(repr(pool)) < 120


def test_a_result_shows_its_best_graphs_first(result: nasgoat.SearchResult) -> None:
    html = result._repr_html_()
    assert len(read_pictures(html)) == 12  # the best, a table of ten and a legend
    assert "20 evaluations" in html
    assert html.index("8.000") < html.index("and 10 more")


def test_hostile_labels_stay_text() -> None:
    space = nasgoat.EdgeLabeledSpace(nodes=3, ops=HOSTILE)
    found = nasgoat.search(lambda cell: 1.0, space, evaluations=5, initial=5)
    assert "<script" not in found._repr_html_() + space._repr_html_()


def test_a_result_prints_in_a_few_lines_and_is_short_where_it_is_named(
    result: nasgoat.SearchResult,
) -> None:
    lines = str(result).splitlines()
    assert lines[0].startswith("20 evaluations in ")
    assert "100 % of the proposals" in lines[1]
    assert lines[2] == f"best error 8.000, evaluation {result.best.number + 1}"
    assert len(lines) < 12
    assert repr(result) == "<SearchResult: 20 evaluations, best error 8, finished>"
    assert re.fullmatch(r"<Evaluation number \d+: error 8, optimal, 4 nodes.*>", repr(result.best))


def test_large_objects_have_a_short_representation(result: nasgoat.SearchResult) -> None:
    graphs = [e.graph for e in result.evaluations]
    gp = nasgoat.GraphGP(SPACE, "linear").fit(graphs, [e.error for e in result.evaluations])
    smooth = nasgoat.GraphGP(SPACE, "exponential").fit(graphs, range(len(graphs)))
    limited = SPACE.constrain("conv <= 2", "depth <= 3")
    things = [gp, gp.posterior_, smooth.posterior_, SPACE.batch(graphs), limited]
    assert all(len(repr(thing)) < 200 for thing in things), list(map(repr, things))
    assert repr(SPACE) == "EdgeLabeledSpace(nodes=4, ops=('conv', 'pool', 'wide'))"
    assert repr(gp).endswith("fitted to 20 graphs>")


def test_a_result_becomes_a_data_frame() -> None:
    pytest.importorskip("pandas")

    seen: list[LabeledGraph] = []

    def sometimes(cell: LabeledGraph) -> dict[str, Any]:
        seen.append(cell)
        if len(seen) in (4, 13):
            raise ValueError("out of luck")
        return count_edges(cell)

    found = nasgoat.search(sometimes, SPACE, evaluations=20, initial=10, seed=3)
    table = found.to_dataframe()
    assert len(found.failures) == 2
    assert list(table.columns) == [
        *("number", "iteration", "error", "best", "epochs", "status", "lcb", "mean", "std"),
        *("bound", "gap", "failure", "graph"),
    ]
    assert table["number"].tolist() == list(range(20))
    assert table["error"].isna().sum() == len(found.failures) == table["failure"].notna().sum()
    assert table["best"].dropna().tolist() == found.curve()
    assert table["graph"][found.best.number] == found.best.graph


def test_a_missing_pandas_is_named_with_its_extra(
    result: nasgoat.SearchResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r'pip install "nasgoat\[pandas\]"'):
        result.to_dataframe()


class FakeDisplay(ModuleType):
    """What IPython.display does in a notebook: one output, written over."""

    def __init__(self) -> None:
        super().__init__("IPython.display")
        self.outputs: list[list[str]] = []

    def HTML(self, text: str) -> str:  # noqa: N802 IPython's name
        return text

    def display(self, shown: str, display_id: bool) -> SimpleNamespace:
        assert display_id
        self.outputs.append([shown])
        return SimpleNamespace(update=self.outputs[-1].append)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> FakeDisplay:
    display, ipython = FakeDisplay(), ModuleType("IPython")
    vars(ipython)["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return display


def test_a_notebook_shows_progress_in_one_place(notebook: FakeDisplay, tmp_path: Path) -> None:
    for evaluations in (20, 25):
        nasgoat.search(count_edges, SPACE, evaluations, storage=tmp_path / "x.db")
    assert len(notebook.outputs) == 2
    first, second = notebook.outputs
    assert len(first) >= 3
    assert first[-1] == "20 of 20 evaluations, best error 8"
    assert second[-1] == "25 of 25 evaluations, best error 8"


def test_progress_can_be_switched_off(notebook: FakeDisplay) -> None:
    nasgoat.search(count_edges, SPACE, 5, initial=5, progress=None)
    assert notebook.outputs == []


def test_a_function_of_the_callers_hears_progress_instead(notebook: FakeDisplay) -> None:
    heard: list[str] = []
    nasgoat.search(count_edges, SPACE, 5, initial=5, progress=heard.append)
    assert notebook.outputs == []
    assert heard[-1].startswith("5 of 5 evaluations")


def test_a_drawing_shows_itself_once_and_pyplot_does_not_know_it() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    figure = draw(SPACE.sample(1, np.random.default_rng(0))[0])
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert plt.get_fignums() == before


def test_the_tutorial_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    document = json.loads(TUTORIAL.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    page = PageRun(tmp_path)
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    for i, cell in enumerate(cells):
        assert cell["outputs"] == []
        page.run(Block("python", None, "".join(cell["source"]), f"cell {i}"))

"""Colours: the same operation has the same one in files, reports, notebooks and terminals."""

import io
import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from rich.console import Console

from nasgoat import EdgeLabeledSpace, LabeledGraph
from nasgoat.cli.terminal import show_graph
from nasgoat.figures import draw, ladder
from nasgoat.figures.colours import DARK, LIGHT, assign_colours, list_operations
from nasgoat.figures.drawing import write_ladder
from nasgoat.report import search_page
from nasgoat.report.page import write_picture_style
from nasgoat.spaces import SearchSpace, list_presets, preset
from tests.report.studies import made
from tests.strategies import labeled_graphs

CELL = LabeledGraph.from_edges(
    4, [(0, 1), (1, 2), (0, 3), (2, 3)],
    edge_labels=["skip_connect", "nor_conv_3x3", "avg_pool_3x3", "nor_conv_1x1"],
)  # fmt: skip


@given(st.lists(st.text(max_size=4), max_size=12))
def test_up_to_ten_operations_have_colours_of_their_own(labels: list[str]) -> None:
    found = assign_colours(labels)
    assume("C" not in labels)  # carbon is grey
    names = set(labels) - {"input", "output"}
    assert set(found) == names
    assert set(found.values()) <= set(range(1, len(LIGHT)))
    assert len(set(found.values())) == min(len(names), len(LIGHT) - 1)
    assert assign_colours(labels[::-1]) == found


@pytest.mark.parametrize("name", list_presets())
def test_a_graph_alone_has_the_colours_of_its_space(name: str) -> None:
    whole = assign_colours(preset(name).labels)
    assert len(set(whole.values())) == len(whole)
    for label, number in whole.items():
        assert assign_colours([label]) == {label: number}


def test_elements_have_the_colours_that_chemists_are_used_to() -> None:
    space = preset("molecules")
    found = assign_colours(space.labels)
    shades = {element: LIGHT[found[element]] for element in space.node_vocabulary}
    red, green, blue = ({e: int(s[i : i + 2], 16) for e, s in shades.items()} for i in (1, 3, 5))
    assert red["O"] > max(green["O"], blue["O"])
    assert blue["N"] > max(red["N"], green["N"])
    assert green["F"] > max(red["F"], blue["F"])
    assert found["C"] == 0


def linearise(text: str) -> list[float]:
    """The red, green and blue of a colour, linear in light."""
    values = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


@pytest.mark.parametrize(("shades", "behind"), [(LIGHT, "#ffffff"), (DARK, "#191f26")])
def test_colours_can_be_read_as_text(shades: tuple[str, ...], behind: str) -> None:
    assert len(shades) == len(set(shades)) == len(LIGHT)
    weights = np.array([0.2126, 0.7152, 0.0722])
    for shade in shades:
        pair = sorted(0.05 + weights @ linearise(c) for c in (shade, behind))
        assert pair[1] / pair[0] >= 4.5  # WCAG 2.2, 1.4.3


def read_figure(graph: LabeledGraph) -> dict[str, str]:
    """The colour of each operation in a picture of matplotlib's."""
    texts = draw(graph).axes[0].texts
    return {t.get_text(): to_hex(t.get_color()) for t in texts if not t.get_text().isdigit()}


def read_svg(text: str) -> dict[str, str]:
    """The colour of each operation on the edges of a picture, by the style that it comes with."""
    shades = dict(re.findall(r"--c(\d+): (#\w+);", write_picture_style().split("@media")[0]))
    labels = re.findall(r'class="on-edge o(\d+)">([^<]+)<', text)
    return {label: shades[number] for number, label in labels}


def read_terminal(graph: LabeledGraph, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The colour of each operation on a terminal."""
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, color_system="truecolor", width=200)
    monkeypatch.setattr("rich.console.Console", lambda **_: terminal)
    show_graph(graph)
    found = re.findall(
        r"\x1b\[1;38;2;255;255;255;48;2;(\d+);(\d+);(\d+)m ([^\x1b]+) ", written.getvalue()
    )
    return {label: "#" + "".join(f"{int(x):02x}" for x in shade) for *shade, label in found}


def test_every_picture_of_a_cell_has_the_same_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {label: LIGHT[i] for label, i in assign_colours(list_operations([CELL])).items()}
    assert len(set(expected.values())) == 4
    assert read_figure(CELL) == expected
    assert read_svg(CELL._repr_svg_()) == expected
    assert read_terminal(CELL, monkeypatch) == expected
    page = search_page(made(preset("nb201"), 12))
    hero = page[page.index('id="best-cell-title"') : page.index("The graph as JSON")]
    shown = read_svg(hero)
    assert (
        shown.items()
        <= {n: LIGHT[i] for n, i in assign_colours(preset("nb201").labels).items()}.items()
    )
    assert shown


def test_a_known_space_settles_who_has_a_colour_that_two_names_want() -> None:
    names = [f"op{i}" for i in range(12)]
    one, two = next(
        (a, b)
        for a, b in itertools.combinations(names, 2)
        if assign_colours([a])[a] == assign_colours([b])[b]
    )
    space: SearchSpace = EdgeLabeledSpace(nodes=2, ops=[one, two])
    alone = LabeledGraph.from_edges(2, [(0, 1)], edge_labels=[two])
    whole = LIGHT[assign_colours(space.labels)[two]]
    shown = to_hex(draw(alone, operations=space.labels).axes[0].texts[0].get_color())
    assert shown == whole != LIGHT[assign_colours([one])[one]]


@given(labeled_graphs())
def test_the_pieces_of_a_text_are_the_text_and_name_every_label(graph: LabeledGraph) -> None:
    pieces = write_ladder(graph)
    assert "".join(text for text, _ in pieces) == ladder(graph)
    shown = sorted(label for _, label in pieces if label is not None)
    assert shown == sorted([*(graph.node_labels or ()), *(graph.edge_labels or {}).values()])


def test_a_file_gets_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_graph(CELL)
    assert capsys.readouterr().out == ladder(CELL) + "\n"


def test_a_terminal_obeys_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["[bold]\x1b[2J"])
    assert read_terminal(hostile, monkeypatch).keys() == {"[bold]?[2J"}

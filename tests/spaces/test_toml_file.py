"""Spaces from TOML: presets, round trips, and one line for whatever is wrong."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nasgoat import GraphSpace, NodeLabeledSpace, load_space, nasbench101
from nasgoat.errors import NasgoatError, SpaceFileError
from nasgoat.spaces import (
    ChainSpace,
    SearchSpace,
    list_presets,
    parse_space,
    preset,
    read_preset_text,
    register_family,
    to_toml,
)
from tests.declared_cells import DECLARED_CELLS
from tests.graph_spaces import graph_spaces
from tests.strategies import limited_spaces


def test_a_declaration_with_limits_and_costs() -> None:
    costs = {"params": {"conv": 3, "pool": 0.5}}
    limits = {"few": "conv <= 1", "cheap": "sum(params) <= 9"}
    space = NodeLabeledSpace((2, 5), ["conv", "pool"], 7).constrain(limits, costs=costs)
    assert parse_space(DECLARED_CELLS) == space
    listed = '[space]\nkind = "graph"\nnodes = 3\nnode_ops = ["a"]\n'
    assert parse_space(f'limits = ["a <= 2"]\n{listed}').limits[0].name == "a <= 2"


@pytest.mark.parametrize("name", list_presets())
def test_presets_are_shipped_and_read_back(name: str) -> None:
    space = preset(name)
    assert parse_space(to_toml(space)) == space
    assert "description" in read_preset_text(name)


def test_presets_are_the_published_spaces() -> None:
    assert nasbench101() == NodeLabeledSpace((2, 7), ["conv3x3", "conv1x1", "maxpool3x3"], 9)
    assert preset("darts-reduction").count() == 180 * 7**8
    assert {"nb101", "nb201", "nb201-all", "darts-normal", "nbgraph", "molecules"} <= {
        *list_presets()
    }


@given(limited_spaces() | graph_spaces())
@settings(max_examples=60)
def test_every_space_is_read_back_from_its_toml(space: SearchSpace) -> None:
    again = parse_space(to_toml(space))
    assert again == space
    assert again.fingerprint() == space.fingerprint()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_edges", "max_edge", "s.toml:6: space.max_edge must be one of"),
        ("max_edges", "max_edge", "did you mean max_edges?"),
        ("[limits]", "[limit]", "s.toml:8: limit must be one of"),
        ("nodes = [2, 5]", 'nodes = "five"', "s.toml:4: space.nodes must be a number or"),
        ("max_edges = 7", "max_edges = 7.5", "s.toml:6: space.max_edges must be a whole number"),
        ("max_edges = 7", "max_edges = true", "s.toml:6: space.max_edges must be a whole number"),
        ("[space]", "[spaces]", "did you mean space?"),
        ("kind =", "# kind =", "s.toml:2: space must have the key kind"),
        ("[space]\n", "", "kind must stand in a table, got none; write [space] above"),
        ("node-labelled", "node-label", "s.toml:3: space.kind must be one of"),
        ("nodes = [2, 5]", "", "space must have the key nodes"),
        ("conv <= 1", "convv <= 1", "s.toml:9: limits.few: an operation in a limit must be one of"),
        ("conv <= 1", "conv < 1", "s.toml:9: limits.few: a limit must be like"),
        ('"conv <= 1"', "1", "s.toml:9: limits.few must be text"),
        ("pool = 0.5", "pool = nan", "s.toml:14: costs.params.pool must be a finite number"),
        ("pool = 0.5", "pool = inf", "s.toml:14: costs.params.pool must be a finite number"),
        ("pool = 0.5", f"pool = {'9' * 400}", "costs.params.pool must be a finite number"),
        (
            "pool = 0.5",
            "poool = 0.5",
            "s.toml:14: costs.params.poool must be one of constant, conv",
        ),
        ("pool = 0.5", 'pool = "1"', "s.toml:14: costs.params.pool must be a finite number"),
        (
            "pool = 0.5",
            "pool = []",
            "s.toml:14: costs.params.pool must be a list of finite numbers",
        ),
        ("pool = 0.5", "pool = [1, nan]", "s.toml:14: costs.params.pool must be a list of finite"),
        ("pool = 0.5", "[costs.params.3]\npool = nan", "s.toml:15: costs.params.3.pool must be a"),
        ("pool = 0.5", "[costs.params.3]\npol = 1", "s.toml:15: costs.params.3.pol must be one of"),
        ("pool = 0.5", "[costs.params.'0>x']", "s.toml:14: costs.params.0>x with a table must be"),
        ("pool = 0.5", "pool = {conv = 1}", "s.toml:14: costs.params.pool with a table must be"),
        ("[costs.params]", "[costs]\nparams = 3\n[costs.b]", "s.toml:13: costs.params must be a t"),
        ("sum(params)", "sum(flops)", "s.toml:10: limits.cheap: the cost of a limit"),
        ("[costs.params]\nconv = 3\npool = 0.5\n", "", "declare the cost in a table [costs.NAME]"),
        ("nodes = [2, 5]", "nodes = 0", "s.toml:4: space.nodes: nodes must be from 2"),
        ("nodes = [2, 5]", "nodes = [5, 2]", "s.toml:4: space.nodes: nodes must be from 2"),
        ("nodes = [2, 5]", f"nodes = {'9' * 99}", "s.toml:4: space.nodes"),
        ("nodes = [2, 5]", f"nodes = {'9' * 9999}", "must be TOML"),
        ("max_edges = 7", "max_edges = 0", "s.toml:6: space.max_edges: max_edges must be at least"),
        ('"pool"]', '"conv"]', "s.toml:5: space.ops: ops must be distinct"),
        ('"pool"]', "1]", "s.toml:5: space.ops: ops must be a list of names"),
        ('"pool"]', '"pool"', "must be TOML"),
        ("max_edges = 7", "max_edges = 7\nmax_edges = 8", "s.toml:7: must be TOML"),
        ("max_edges = 7", "max_edges = " + "[" * 5000, "s.toml:1: must not be nested so deeply"),
    ],
)
def test_bad_input_is_one_line_with_file_line_and_key(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(DECLARED_CELLS.replace(old, new, 1))
    with pytest.raises(SpaceFileError) as caught:
        load_space(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


CHAIN = """\
[space]
kind = "chain"
layers = 3
ops = ["conv", "pool"]
[limits]
fast = "sum(latency) <= 9"
[costs.latency]
conv = [1.0, 2.0, 3.0]
pool = 1.5
[costs.latency.1]
pool = 4.0
"""


def test_costs_by_layer_are_those_of_python() -> None:
    costs: dict[str, Any] = {"conv": [1.0, 2.0, 3.0], "pool": 1.5, "1": {"pool": 4.0}}
    space = ChainSpace(3, ["conv", "pool"]).constrain(
        {"fast": "sum(latency) <= 9"}, costs={"latency": costs}
    )
    assert parse_space(CHAIN) == space
    assert parse_space(to_toml(space)) == space


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2.0, 3.0]", "2.0]", r"c:8: costs.latency.conv: .* must have 3 numbers"),
        ("latency.1", "latency.7", r"c:10: costs.latency.7: .* must be a layer from 0 to 2"),
        ("latency.1", "latency.'0>2'", r"c:10: costs.latency.0>2: .* must be a layer"),
    ],
)
def test_costs_of_places_that_are_not_there(old: str, new: str, said: str) -> None:
    with pytest.raises(SpaceFileError, match=said):
        parse_space(CHAIN.replace(old, new), "c")


def test_min_over_max_in_a_graph_space(tmp_path: Path) -> None:
    text = '[space]\nkind = "graph"\nnodes = 3\nmin_edges = 5\nmax_edges = 4\n'
    with pytest.raises(SpaceFileError, match=r"g:4: space.min_edges: min_edges must be at most 4"):
        parse_space(text, "g")
    with pytest.raises(SpaceFileError, match=r"g:7: space\.degree"):
        parse_space(
            '[space]\nkind = "graph"\nnodes = 3\ndirection = "undirected"\nnode_ops = ["C"]\n\n'
            "[space.degree]\nC = [4, 1]\n",
            "g",
        )


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    with pytest.raises(SpaceFileError, match="must be readable"):
        load_space(path)
    path.write_bytes(b'[space]\nkind = "\xff"\n')
    with pytest.raises(SpaceFileError, match=r"s.toml:2: must be UTF-8, got byte 0xff"):
        load_space(path)
    path.write_bytes(b"a" * 2_000_000)
    with pytest.raises(SpaceFileError, match="at most 1,000,000 bytes"):
        load_space(path)


@given(st.data())
@settings(max_examples=150)
def test_any_damage_is_refused_or_read(data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from(
            [DECLARED_CELLS, read_preset_text("molecules"), read_preset_text("nbgraph")]
        )
    )
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(start + 12, len(text))))
    junk = st.text(alphabet="[]{}=\"'.,#\n -+<>*019aenospx_", max_size=6)
    damaged = text[:start] + data.draw(junk) + text[stop:]
    try:
        assert isinstance(parse_space(damaged, "d"), SearchSpace)
    except NasgoatError as problem:
        assert isinstance(problem, SpaceFileError)
        assert str(problem).startswith("d:")


def test_python_and_toml_declare_the_same_molecules() -> None:
    space = GraphSpace(
        (1, 6),
        ["C", "N", "O", "F"],
        ["single", "double", "triple"],
        "undirected",
        "connected",
        degree={"C": (0, 4), "N": (0, 3), "O": (0, 2), "F": (0, 1)},
        edge_weights={"double": 2, "triple": 3},
    )
    assert preset("molecules") == space


@dataclass(frozen=True)
class NamedChains(ChainSpace):
    """A family of one's own: it inherits what its keys hold, and has one of its own."""

    kind = "named-chain"
    author: str = field(default="", kw_only=True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('layers = "two"', "s.toml:3: space.layers must be a number or [smallest, largest]"),
        ("layer = 2", "space.layer must be one of author, kind, layer_ops, layers, ops"),
    ],
)
def test_the_keys_of_a_registered_family_are_checked(line: str, said: str) -> None:
    register_family(NamedChains)
    text = '[space]\nkind = "named-chain"\n{}\nops = ["conv"]\nauthor = "Ann"'
    space = parse_space(text.format("layers = 2"))
    assert (space, space.count()) == (NamedChains(2, ["conv"], author="Ann"), 1)
    with pytest.raises(SpaceFileError) as caught:
        parse_space(text.format(line), "s.toml")
    assert said in str(caught.value)

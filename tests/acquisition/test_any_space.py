"""Time, memory and the number of proposals on legal spaces of every family and size."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.hard_spaces import name_ops
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import hard_spaces
from nasgoat import (
    ChainSpace,
    DartsSpace,
    EdgeLabeledSpace,
    GraphSpace,
    NodeLabeledSpace,
    molecules,
)
from nasgoat.spaces import SearchSpace, to_toml

SECONDS = 3.0
#: Loading of compiled code and of a solver, which no limit can shorten, of the processor.
LOADING = 12.0
MEGABYTES, ADDRESS_SPACE = 1_000, 12_000
#: What the interpreter with all its libraries holds before any work.
LIBRARIES = 700
OPTIMIZERS = ("auto", "branch", "scip", "local", "mutation", "sampling", "catalogue")


def make_molecules(atoms: int) -> GraphSpace:
    return replace(molecules(), nodes=atoms)


def _range(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    pair = st.tuples(st.integers(low, high), st.integers(low, high))
    return pair.map(lambda ends: (min(ends), max(ends)))


ops = st.sampled_from([1, 2, 3, 5, 10, 126]).map(name_ops)
few_ops = st.sampled_from([1, 2, 3, 5, 10]).map(name_ops)
node_labelled = st.builds(NodeLabeledSpace, _range(2, 30), few_ops)
edge_labelled = st.builds(EdgeLabeledSpace, st.integers(2, 20), few_ops, st.booleans())
darts_like = st.builds(DartsSpace, st.integers(3, 14), few_ops)
chains = st.builds(ChainSpace, st.integers(1, 40), ops)
graphs = st.builds(
    GraphSpace,
    _range(1, 30),
    few_ops,
    st.sampled_from([0, 1, 3]).map(lambda count: name_ops(count, "e")),
    st.sampled_from(["acyclic", "directed", "undirected"]),
    st.sampled_from(["none", "connected"]),
)
spaces: st.SearchStrategy[SearchSpace] = st.one_of(
    node_labelled, edge_labelled, darts_like, chains, graphs, st.integers(1, 12).map(make_molecules)
)


def ask(space: SearchSpace, optimizer: str, kernel: str, k: int = 3) -> dict[str, Any]:
    """What an optimiser answers in a process of its own, whose memory the system limits."""
    question = {
        "space": to_toml(space),
        "optimizer": optimizer,
        "kernel": kernel,
        "seconds": SECONDS,
        "megabytes": MEGABYTES,
        "address_space": ADDRESS_SPACE,
        "k": k,
    }
    command = [sys.executable, "-m", "tests.acquisition.any_question"]
    ended = subprocess.run(
        command, input=json.dumps(question), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{space!r} by {optimizer}: {ended.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def machine_code() -> None:
    """The code of every search is on disk, so that no question below pays for compiling it."""
    small = [
        NodeLabeledSpace(5, name_ops(2)),
        NodeLabeledSpace((2, 8), name_ops(3)),
        EdgeLabeledSpace(4, name_ops(2)),
        DartsSpace(4, name_ops(2)),
        ChainSpace(20, name_ops(3)),
        GraphSpace((1, 4), name_ops(2), direction="acyclic"),
    ]
    for space in small:
        for kernel in ("linear", "exponential"):
            ask(space, "branch", kernel)


def check(space: SearchSpace, optimizer: str, kernel: str = "linear") -> None:
    found = ask(space, optimizer, kernel)
    said = f"{space!r} by {optimizer}, {kernel}: {found}"
    if "refusal" in found:  # in one line, and only where the optimiser can't apply
        assert optimizer in {"catalogue", "branch"}, said
        assert " must " in found["refusal"], said
        assert "\n" not in found["refusal"], said
        return
    assert found["processor"] <= SECONDS + 2.0 + LOADING, said
    assert found["megabytes"] <= MEGABYTES + LIBRARIES, said
    assert found["proposals"] == found["distinct"] == found["others"], said
    assert found["outside"] == 0, said
    assert found["values"] == sorted(found["values"]), said
    if found["bound"] is not None and found["values"]:
        assert found["bound"] <= found["values"][0], said
    if found["status"] not in {"heuristic", "exhausted"}:
        assert found["bound"] is not None, said


@pytest.mark.parametrize(
    ("space", "optimizer"),
    [
        pytest.param(EdgeLabeledSpace(8, name_ops(4)), "local", marks=pytest.mark.slow),
        pytest.param(GraphSpace((1, 100)), "mutation", marks=pytest.mark.slow),
        (GraphSpace((1, 30), name_ops(4), direction="acyclic"), "sampling"),
    ],
)
def test_large_spaces_have_an_answer_in_time(space: SearchSpace, optimizer: str) -> None:
    check(space, optimizer)


@pytest.mark.slow
@pytest.mark.usefixtures("machine_code")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    "space",
    [
        NodeLabeledSpace((2, 30), name_ops(10)),
        NodeLabeledSpace((2, 12), name_ops(10)),
        NodeLabeledSpace(2, name_ops(2)),
        EdgeLabeledSpace(8, name_ops(4)),
        EdgeLabeledSpace(2, name_ops(3)),
        DartsSpace(12, name_ops(8)),
        ChainSpace(32, name_ops(6)),
        GraphSpace((1, 30), name_ops(4), direction="acyclic"),
        GraphSpace((1, 100)),
        GraphSpace(9, [], name_ops(3, "e"), min_edges=50),
        GraphSpace((1, 4), name_ops(126)),
        make_molecules(12),
    ],
    ids=repr,
)
def test_the_known_hard_spaces_keep_to_the_limits(space: SearchSpace, optimizer: str) -> None:
    check(space, optimizer)


@pytest.mark.slow
@pytest.mark.usefixtures("machine_code")
@settings(max_examples=60, deadline=None)
@given(spaces, st.sampled_from(OPTIMIZERS), st.sampled_from(["linear", "exponential"]))
def test_every_legal_space_keeps_to_the_limits(
    space: SearchSpace, optimizer: str, kernel: str
) -> None:
    check(space, optimizer, kernel)


@pytest.mark.slow
@pytest.mark.usefixtures("machine_code")
@pytest.mark.parametrize("optimizer", hard_spaces.OPTIMIZERS)
@pytest.mark.parametrize("name", hard_spaces.SPACES)
def test_the_command_line_keeps_to_the_time_limit(name: str, optimizer: str) -> None:
    space = hard_spaces.SPACES[name]
    ended = hard_spaces.solve(space, optimizer)
    if ended.refused:  # branch and bound refuses what it can't bound, in one line
        assert optimizer == "branch", ended.error
        return
    assert ended.code == 0, ended.error
    assert ended.processor <= hard_spaces.LIMIT + hard_spaces.SLACK + LOADING, ended
    left = len(space.sample(6, np.random.default_rng(0))) - 1  # without the observed one
    assert len(ended.answer["proposals"]) == min(5, left)
    if ended.answer["status"] not in {"heuristic", "exhausted"}:
        assert ended.answer["bound"] is not None

"""Which optimiser is exact for which block in which family: all of the table is tried."""

from __future__ import annotations

import numpy as np
import pytest

from nasgoat import LowerConfidenceBound, NodeLabeledSpace, darts, molecules
from nasgoat.acquisition import make_optimizer
from nasgoat.errors import SettingError
from nasgoat.kernels import explain_unbounded, keep_bounded, list_bounded_blocks
from nasgoat.kernels.blocks import BLOCKS

from .block_problems import FAMILIES, fitted
from .problems import Problem
from .test_block_codes import agrees, check_program

#: What nothing less than the whole graph decides.
WHOLE_GRAPH = {"lengths", "surroundings"}
#: The blocks that branch and bound, and the program, do not know: all others they do.
UNKNOWN = {
    ("cells, labels on nodes", "branch"): WHOLE_GRAPH,
    ("cells, labels on nodes", "scip"): WHOLE_GRAPH,
    ("cells, labels on edges", "branch"): WHOLE_GRAPH,
    ("cells, labels on edges", "scip"): WHOLE_GRAPH,
    ("DARTS", "branch"): WHOLE_GRAPH,
    ("DARTS", "scip"): WHOLE_GRAPH,
    ("chains", "branch"): {"lengths"},
    ("chains", "scip"): {"lengths"},
    ("declared, acyclic", "branch"): WHOLE_GRAPH,
    ("declared, acyclic", "scip"): WHOLE_GRAPH,
    ("declared, undirected", "branch"): {"surroundings"},
    ("declared, undirected", "scip"): {"surroundings"},
    ("declared, directed", "branch"): {"surroundings"},
    ("declared, directed", "scip"): {"surroundings"},
    ("several cells", "scip"): {*BLOCKS},
}


def problem_of(family: str, block: str) -> Problem:
    space, rng = FAMILIES[family], np.random.default_rng(0)
    gp = fitted(space, "linear", ("paths", block), 10, rng)
    return Problem(space, LowerConfidenceBound(2.0).given(gp), 3, set())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", BLOCKS)
def test_branch_and_bound_agrees_or_says_why_not(family: str, block: str) -> None:
    if block in UNKNOWN.get((family, "branch"), set()):
        with pytest.raises(SettingError, match=f"for the optimizer branch.*{block}; leave it"):
            make_optimizer("branch", FAMILIES[family], blocks=("paths", block))
        return
    agrees(problem_of(family, block))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_program_says_which_blocks_it_knows(family: str, block: str) -> None:
    if block in UNKNOWN.get((family, "scip"), set()):
        with pytest.raises(SettingError, match=r"use (branch or )?the catalogue"):
            make_optimizer("scip", FAMILIES[family], blocks=("paths", block))
        return
    make_optimizer("scip", FAMILIES[family], blocks=("paths", block))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_program_agrees_where_it_knows_a_block(family: str, block: str) -> None:
    if block in UNKNOWN.get((family, "scip"), set()):
        pytest.skip("it says so")
    check_program(problem_of(family, block))


def test_blocks_that_have_too_many_values_together_are_left_out_in_turn() -> None:
    both = ("operations", "longest")
    assert {*both} <= {*list_bounded_blocks(darts())}
    assert "numbers of operations and richest paths" in str(explain_unbounded(darts(), both))
    assert keep_bounded(darts(), both) == ("operations",)


def test_a_program_chooses_among_few_matrices() -> None:
    assert explain_unbounded(molecules(6), ["shape"]) is None
    assert "32,768 matrices decide shape" in str(explain_unbounded(molecules(6), ["shape"], True))


def test_the_paths_of_graphs_with_cycles_decide_nothing() -> None:
    assert explain_unbounded(molecules(4), ["longest"]) is None  # the block has no columns
    assert "surroundings" not in list_bounded_blocks(NodeLabeledSpace(4, ["a"]))

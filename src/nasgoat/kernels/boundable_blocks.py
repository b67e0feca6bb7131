"""Which blocks branch and bound and the mixed-integer program can bound in a space, and why not.

A block that less than the whole graph decides is searched value by value of what decides it
(:mod:`nasgoat.kernels.summaries`), if there are few of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from nasgoat.errors import SettingError
from nasgoat.kernels.blocks import BLOCKS, PAPER_BLOCKS, Block, block_names
from nasgoat.kernels.summaries import (
    GRAPH,
    LONGEST,
    MOST_MATRICES,
    OPERATIONS,
    STRUCTURE,
    bound_matrices,
    count_summaries,
)
from nasgoat.spaces import SearchSpace

#: Summaries of graphs that are searched one by one at most.
MOST_SUMMARIES = 10_000
#: Graphs of one of several cells that are listed, for blocks that its structure does not decide.
MOST_ROWS = 100_000


def count_searches(space: SearchSpace, names: Sequence[str]) -> int:
    """How many times the structures must be searched: once for each summary of the blocks.

    Example:
        >>> from nasgoat import nasbench101
        >>> count_searches(nasbench101(), ["paths", "shape"])
        1
        >>> count_searches(nasbench101(), ["paths", "operations"])
        56
    """
    if space.cells:  # each of their rows has its codes
        return 1
    return count_summaries(space, [block.decided_by for block in _find_counting(space, names)])


def _find_counting(space: SearchSpace, names: Sequence[str]) -> list[Block]:
    """The blocks other than the paper's that have something to count in a space."""
    return [BLOCKS[name] for name in names if name in BLOCKS and BLOCKS[name].bounds(space)]


def explain_unbounded(
    space: SearchSpace, names: Sequence[str], program: bool = False
) -> str | None:
    """Why graphs can't be bounded under a kernel with these blocks; None if they can.

    Args:
        space: The space.
        names: The blocks.
        program: Whether by a mixed-integer program, or by branch and bound.

    Example:
        >>> from nasgoat import darts, nasbench101
        >>> explain_unbounded(darts(), ["paths", "operations", "shape"])
        >>> explain_unbounded(nasbench101(), ["surroundings"])
        'nothing less than the whole graph decides surroundings'
    """
    for name in names:
        if name in PAPER_BLOCKS:
            continue
        if reason := _explain_block(space, name, program):
            return reason
    return _explain_number(space, [name for name in names if name in BLOCKS])


def _explain_block(space: SearchSpace, name: str, program: bool) -> str | None:
    """Why one block other than the paper's can't be bounded."""
    block = BLOCKS[name]
    if space.layout == "list":
        return f"{name} can be bounded in cells and declared graphs alone"
    if space.cells:
        return _explain_cells(space, name)
    if not block.bounds(space):
        return None
    if block.decided_by == GRAPH:
        return f"nothing less than the whole graph decides {name}"
    if block.decided_by == LONGEST and not space.acyclic:
        return f"paths that decide {name} may run in cycles"
    if program and block.decided_by == STRUCTURE and space.layout == "graph":
        found = bound_matrices(space)
        if found > MOST_MATRICES:
            return (
                f"about {found:,.0f} matrices decide {name}, a program can choose among "
                f"{MOST_MATRICES:,}"
            )
    return None


def _explain_cells(space: SearchSpace, name: str) -> str | None:
    """Why not in several cells: structures are rows there, or all graphs of a cell are."""
    if BLOCKS[name].decided_by == STRUCTURE:
        return None
    for cell, own in space.cells.items():
        if own.labels_on == "edges" and BLOCKS[name].bounds(own):
            found = own.size_bound()
            if found > MOST_ROWS:
                return (
                    f"each graph of the cell {cell} decides {name}: up to {found:,.0f}, "
                    f"{MOST_ROWS:,} can be listed"
                )
    return None


def _explain_number(space: SearchSpace, names: Sequence[str]) -> str | None:
    """Why what decides the blocks has too many values, if it has."""
    found = count_searches(space, names)
    if found <= MOST_SUMMARIES:
        return None
    said = [
        words
        for by, words in ((OPERATIONS, "numbers of operations"), (LONGEST, "richest paths"))
        if any(block.decided_by == by for block in _find_counting(space, names))
    ]
    which = [name for name in names if BLOCKS[name].decided_by in (OPERATIONS, LONGEST)]
    return (
        f"{found:,} {' and '.join(said)} decide {', '.join(which)}, {MOST_SUMMARIES:,} at most can "
        "be searched one by one"
    )


def list_bounded_blocks(space: SearchSpace, program: bool = False) -> tuple[str, ...]:
    """The blocks under which the graphs of a space can be bounded: the paper's among them.

    Each is one that can be used besides the paper's; a kernel with several of them may still have
    too many numbers of operations and richest paths to search.

    Example:
        >>> from nasgoat import nasbench101
        >>> list_bounded_blocks(nasbench101())
        ('paths', 'nodes', 'edges', 'operations', 'shape', 'longest', 'lengths')
    """
    return tuple(
        name for name in block_names() if explain_unbounded(space, [name], program) is None
    )


def keep_bounded(
    space: SearchSpace, names: Sequence[str], program: bool = False
) -> tuple[str, ...]:
    """Those of some blocks under which, all together, graphs can be bounded: the first ones first.

    Example:
        >>> from nasgoat import darts
        >>> keep_bounded(darts(), ["paths", "operations", "shape", "longest"])
        ('paths', 'operations', 'shape')
    """
    kept: tuple[str, ...] = ()
    for name in names:
        if explain_unbounded(space, [*kept, name], program) is None:
            kept = (*kept, name)
    return kept


def require_bounded_blocks(
    space: SearchSpace, names: Sequence[str], optimizer: str, program: bool = False
) -> None:
    """Refuse blocks under which graphs can't be bounded.

    Raises:
        SettingError: If there is one.

    Example:
        >>> from nasgoat import nasbench101
        >>> require_bounded_blocks(nasbench101(), ("paths", "operations"), "branch and bound")
    """
    if reason := explain_unbounded(space, names, program):
        raise SettingError(
            f"the blocks must be among {', '.join(list_bounded_blocks(space, program))} for "
            f"{optimizer}, got {', '.join(names)}: {reason}; leave it out, or use the catalogue"
        )


def require_paper_blocks(names: Sequence[str]) -> None:
    """Refuse blocks other than the paper's, as branch and bound does under the normalised kernel.

    Raises:
        SettingError: If there is one.

    Example:
        >>> require_paper_blocks(("paths", "edges"))
    """
    if not {*names} <= {*PAPER_BLOCKS}:
        raise SettingError(
            f"the blocks must be among {', '.join(PAPER_BLOCKS)} for branch and bound under the "
            f"normalised kernel, got {', '.join(names)}; use the catalogue"
        )

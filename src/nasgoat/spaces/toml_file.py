"""Spaces from TOML and back: one table for the space, one for its limits, one for each cost.

    [space]
    kind = "node-labelled"        # or edge-labelled, darts-like, chain, graph
    nodes = [2, 7]
    ops = ["conv3x3", "conv1x1", "maxpool3x3"]
    max_edges = 9

    [limits]
    budget = "sum(params) <= 2.5e6"

    [costs.params]
    conv3x3 = 9.0e5               # wherever it stands
    conv1x1 = [1.0e5, 2.0e5]      # by layer, where the space has layers

    [costs.params.3]              # at layer 3, beside what it costs everywhere;
    maxpool3x3 = 10.0             # [costs.params."0>3"]: on the edge from node 0 to node 3

All that a cost can have stands in ``spaces/costs.py``.

Several cells at once have a table each instead of ``[space]``, with limits and costs of their own;
``[limits]`` and ``[costs]`` then are those of all cells together:

    [cells.normal]
    kind = "darts-like"
    nodes = 6
    ops = ["sep_conv_3x3", "skip_connect"]

    [cells.normal.limits]
    few = "sep_conv_3x3 <= 6"

    [cells.reduction]
    kind = "edge-labelled"
    nodes = 4
    ops = ["conv3x3", "maxpool3x3"]

    [limits]
    budget = "normal.sum(params) + reduction.sum(params) <= 2.5e6"

Whatever is wrong is one line: file, line, key, what it must be and what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from nasgoat.errors import NasgoatError, SpaceError, SpaceFileError
from nasgoat.spaces.costs import CONSTANT, COUNTED, Costs
from nasgoat.spaces.declared_values import ANYTHING
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.spaces.several_cells import Cells
from nasgoat.spaces.toml_text import write_declaration
from nasgoat.toml_reader import FINITE, TABLE, TEXT, Keys, TomlDocument, Value, list_of

#: The kinds of space that a file may declare, entered by :func:`register_family`: the dataclass,
#: and what each key of its table may hold.
KINDS: dict[str, tuple[type[SearchSpace], Mapping[str, Value]]] = {}
#: Kinds in American spelling, as the classes have it.
_AMERICAN = {"node-labeled": "node-labelled", "edge-labeled": "edge-labelled"}
_TABLES = ("name", "description", "space", "cells", "limits", "costs")
_OF_A_CELL = {"limits": Value("a table", lambda value: True), "costs": TABLE}
_COSTS_BY_LAYER = list_of(FINITE, "finite numbers, one for each layer")
_PLACE = re.compile(r"\d+(>\d+)?")  # a layer, or an edge from one node to another


def register_family(family: type[SearchSpace]) -> None:
    """Let files and stored studies declare spaces of a family by its ``kind``.

    The keys of its table ``[space]`` are the fields of the dataclass. What each may hold is said by
    the family's ``file_keys``; the others take any value, and lists come as tuples.

    Example:
        >>> from dataclasses import dataclass
        >>> from nasgoat.spaces import ChainSpace
        >>> @dataclass(frozen=True)
        ... class LongChains(ChainSpace):
        ...     kind = "long-chain"
        >>> register_family(LongChains)
        >>> declared = {"kind": "long-chain", "layers": 20, "ops": ["conv", "skip"]}
        >>> read_declared_space(declared).count()
        1048576
    """
    if not family.kind or KINDS.get(family.kind, (family,))[0].__name__ != family.__name__:
        raise SpaceError(f"a family must have a kind of its own, got {family.kind!r}")
    names = [each.name for each in fields(cast(Any, family))]
    keys = {name: family.file_keys.get(name, ANYTHING) for name in names}
    for further in ("limits", "costs"):  # tables of their own
        keys.pop(further, None)
    KINDS[family.kind] = (family, keys)


def parse_space(text: str, file: str = "space") -> SearchSpace:
    r"""The space that a TOML text declares; ``file`` is what messages call it.

    Example:
        >>> parse_space('[space]\nkind = "edge-labelled"\nnodes = 3\nops = ["a", "b"]').count()
        12
        >>> parse_space('[space]\nkind = "edge-labeled"\nnodes = 3\nops = ["a", "b"]').kind
        'edge-labelled'
        >>> parse_space('[space]\nkind = "edge-labelled"\nnode = 3', "my.toml")
        Traceback (most recent call last):
        nasgoat.errors.SpaceFileError: my.toml:3: space.node must be one of connected, kind, nodes,
        ops, got 'node'; did you mean nodes?
    """
    document = TomlDocument(file, text, SpaceFileError)
    if "kind" in document.content:
        raise document.make_error(("kind",), "must stand in a table, got none; write [space] above")
    document.check_keys((), document.content, _TABLES)
    for key in ("name", "description"):
        if not TEXT.holds(given := document.content.get(key, "")):
            raise document.refuse_value((key,), "must be text", given)
    if "cells" not in document.content:
        return _read_terms(document, _read_space(document, ("space",)), ())
    if "space" in document.content:
        raise document.make_error(("cells",), "must not stand beside a table [space], got both")
    found = {}
    for name in document.table(("cells",)):
        cell = _read_space(document, ("cells", name), _OF_A_CELL)
        found[name] = _read_terms(document, cell, ("cells", name))
    try:
        return _read_terms(document, Cells(found), ())
    except SpaceFileError:
        raise
    except NasgoatError as problem:
        raise document.refuse(("cells",), found, problem) from None


def _read_space(
    document: TomlDocument, path: Keys, others: Mapping[str, Value] | None = None
) -> SearchSpace:
    """The space of one table; ``others`` are keys besides those of its family."""
    make, values = KINDS[document.read_choice(path, "kind", KINDS, _AMERICAN)]
    content = document.read(path, {**values, "kind": TEXT, **(others or {})})
    for key in ("kind", *(others or {})):
        content.pop(key, None)
    return document.build(make, path, content)


def _read_terms(document: TomlDocument, space: SearchSpace, path: Keys) -> SearchSpace:
    """The space with the costs and limits of the tables at this path."""
    costs = _read_costs(document, space, (*path, "costs"))
    return _read_limits(document, space.constrain(costs=costs), costs, (*path, "limits"))


def _read_limits(
    document: TomlDocument, space: SearchSpace, costs: Costs, table: Keys
) -> SearchSpace:
    """The space with the limits of a table, or of a list."""
    given = document.table(table[:-1]).get(table[-1], {})
    if not isinstance(given, dict | list):
        raise document.refuse_value(table, "must be a table or a list of texts", given)
    for name, text in given.items() if isinstance(given, dict) else enumerate(given):
        path = (*table, str(name))
        if not TEXT.holds(text):
            raise document.refuse_value(path, "must be text like 'conv + pool <= 3'", text)
        try:
            limit = {name: text} if isinstance(name, str) else text
            space = space.constrain(limit, costs=costs)
        except NasgoatError as problem:
            missing = "the cost" in str(problem) and not costs
            hint = "; declare the cost in a table [costs.NAME]" if missing else ""
            raise document.make_error(path, f": {problem}{hint}") from None
    return space


def _read_costs(document: TomlDocument, space: SearchSpace, table: Keys) -> Costs:
    """For each cost its text, or its table: by operation, by layer, by place."""
    costs = document.table(table)
    ops = list(space.vocabulary().ops)
    for name, cost in costs.items():
        path = (*table, name)
        if isinstance(cost, str):
            _try_cost(document, space, path, {name: cost})
            continue
        for key, part in document.table(path).items():
            _check_cost(document, (*path, key), part, ops)
            _try_cost(document, space, (*path, key), {name: {key: part}})
    return costs


def _try_cost(document: TomlDocument, space: SearchSpace, path: Keys, cost: Costs) -> None:
    """Refuse, at its line, what the space refuses."""
    try:
        space.constrain(costs=cost)
    except NasgoatError as problem:
        raise document.make_error(path, f": {problem}") from None


def _check_cost(document: TomlDocument, path: Keys, cost: Any, ops: list[str]) -> None:
    """Refuse what is neither a cost of an operation or count nor a table of costs at a place."""
    if isinstance(cost, dict):
        if not _PLACE.fullmatch(path[-1]):
            demand = 'with a table must be a layer such as 3 or an edge such as "0>3"'
            raise document.refuse_value(path, demand, path[-1])
        document.read(path, dict.fromkeys(ops, FINITE))
        return
    if not _PLACE.fullmatch(path[-1]):
        document.check_keys(path[:-1], (path[-1],), [*ops, *COUNTED, CONSTANT])
    wanted = _COSTS_BY_LAYER if isinstance(cost, list) else FINITE
    if not wanted.holds(cost):
        raise document.refuse_value(path, f"must be {wanted.said}", cost)


def _is_declared(declaration: Mapping[str, Any]) -> bool:
    """Whether a file can declare this space, or these cells."""
    cells = declaration.get("cells")
    if declaration.get("kind") == Cells.kind and isinstance(cells, list):
        return all(isinstance(cell, Mapping) and cell.get("kind") in KINDS for cell in cells)
    return declaration.get("kind") in KINDS


def to_toml(space: SearchSpace) -> str:
    """A declaration that :func:`~nasgoat.spaces.parse_space` reads back to the same space.

    Raises:
        SpaceError: If the space is of a kind that has no declaration.

    Example:
        >>> from nasgoat import EdgeLabeledSpace
        >>> space = EdgeLabeledSpace(3, ["a", "b"]).constrain({"few": "a <= 1"})
        >>> print(to_toml(space))
        [space]
        kind = "edge-labelled"
        nodes = 3
        ops = ["a", "b"]
        connected = true
        <BLANKLINE>
        [limits]
        few = "a <= 1"
    """
    declared = space.to_dict()
    if not _is_declared(declared):
        raise SpaceError(f"the space must have a declaration, got {space.describe()}")
    costs = {cost.name: cost.text for cost in space.costs}
    return write_declaration(declared, costs)


def read_declared_space(declaration: Mapping[str, Any]) -> SearchSpace:
    """The space that :meth:`~nasgoat.spaces.SearchSpace.to_dict` declared, also after JSON.

    Raises:
        SpaceError: If the declaration is of no space.

    Example:
        >>> from nasgoat import nasbench201
        >>> read_declared_space(nasbench201().to_dict()) == nasbench201()
        True
    """
    if not isinstance(declaration, Mapping) or not _is_declared(declaration):
        raise SpaceError(f"the space must have a declaration, got {declaration!r:.80}")
    return parse_space(write_declaration(dict(declaration)))

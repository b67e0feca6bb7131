"""Colours of operations and series: one place decides, for files, pages, notebooks and terminals.

A colour is a number: 0 is grey, for what is no operation, and the others have a shade for light and
one for dark backgrounds. An operation has its number from its name alone, so that a graph looks the
same wherever it is drawn, whether or not its space is known there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from nasgoat.graphs import LabeledGraph

#: On light backgrounds: each has a contrast of at least 4.5 with white, as text and below it.
LIGHT = (
    "#5c6874", "#0b6bb0", "#bf4c00", "#007a5a", "#a23b78", "#8a6100", "#5a4bb5", "#2b7f92",
    "#a33a3a", "#4f7500", "#7d4a1e",
)  # fmt: skip
#: The same colours on dark backgrounds.
DARK = (
    "#9aa6b2", "#5fb2f2", "#ff9a5c", "#41cfa2", "#e98fc2", "#e3b744", "#b0a3ff", "#6fcbe0",
    "#ff9c94", "#a6cf5a", "#d9a679",
)  # fmt: skip
_ENDS = frozenset({"input", "output"})
#: What chemists are used to; carbon is grey.
_ELEMENTS = {"C": 0, "N": 1, "O": 8, "F": 3, "Cl": 9, "S": 5, "P": 2, "Br": 10, "I": 6}
# Chosen so that no two operations of a space that comes with the package want the same colour.
_SALT = zlib.crc32(b"3986548")


def assign_colours(labels: Iterable[str]) -> dict[str, int]:
    """The number of each operation's colour, in the order given; input and output have none.

    An operation has the colour of its name unless another one of these labels, earlier in the
    alphabet, wants the same: then it takes the next one that is free. Beyond ten they repeat.
    Symbols of elements want the colours that chemists are used to.

    Example:
        >>> assign_colours(["input", "conv3x3", "maxpool3x3", "output"])
        {'conv3x3': 5, 'maxpool3x3': 8}
        >>> assign_colours(["maxpool3x3"])
        {'maxpool3x3': 8}
    """
    names = [name for name in dict.fromkeys(labels) if name not in _ENDS]
    found: dict[str, int] = {}
    wanted = {name: _choose_by_name(name) for name in names}
    for name in sorted(names, key=lambda name: (wanted[name], name)):
        if wanted[name] not in found.values():
            found[name] = wanted[name]
    for name in sorted(set(names) - set(found)):
        found[name] = _find_free(wanted[name], set(found.values()))
    return {name: found[name] for name in names}


def list_operations(graphs: Iterable[LabeledGraph]) -> list[str]:
    """The labels of some graphs, each once, in alphabetical order."""
    found = {x for g in graphs for x in (*(g.node_labels or ()), *(g.edge_labels or {}).values())}
    return sorted(found - {""})  # what has no label beside cells that have


def _choose_by_name(name: str) -> int:
    if name in _ELEMENTS:
        return _ELEMENTS[name]
    code = name.encode("utf-8", "surrogatepass")
    return zlib.crc32(code, _SALT) % (len(LIGHT) - 1) + 1


def _find_free(wanted: int, taken: set[int]) -> int:
    """The next free colour, or the one that was wanted if there is none."""
    last = len(LIGHT) - 1
    following = ((wanted + i) % last + 1 for i in range(last))
    return next((number for number in following if number not in taken), wanted)

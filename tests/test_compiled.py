"""Machine code: what is compiled where, and when it is compiled again."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import compiled
from nasgoat.compiled import (
    MACHINE_CODE,
    _digest,
    collect_less_garbage,
    compiled_apart,
    compiled_inline,
)

needs_machine_code = pytest.mark.skipif(not MACHINE_CODE, reason="NUMBA_DISABLE_JIT is set")


@compiled_inline
def _square(x: float) -> float:
    return x * x


@compiled_apart
def _add_up(values: NDArray[np.float64]) -> float:
    total = 0.0
    for value in values:
        total += _square(value)
    return total


def _make_entry() -> Any:
    @numba.njit
    def entry(values: NDArray[np.float64]) -> float:
        return _add_up(values) + _square(2.0)

    return entry


@needs_machine_code
def test_functions_that_only_others_call_are_left_to_their_callers() -> None:
    entry = _make_entry()
    assert entry(np.arange(4.0)) == 0 + 1 + 4 + 9 + 4
    parts: tuple[Any, ...] = (_square, _add_up)
    for part in parts:
        (made,) = part.overloads.values()
        assert made.library.get_pointer_to_function(made.fndesc.mangled_name) == 0
        assert isinstance(made.library, compiled._CodePart)
    (made,) = entry.overloads.values()
    assert made.library.get_pointer_to_function(made.fndesc.mangled_name) != 0


@needs_machine_code
def test_a_function_compiled_apart_is_not_copied_into_a_caller_that_is() -> None:
    @compiled_apart
    def add_up(values: NDArray[np.float64]) -> float:
        return float(values.sum()) + 1.0

    @compiled_inline
    def add_up_twice(values: NDArray[np.float64]) -> float:
        return add_up(values) + add_up(values)

    entry: Any = numba.njit(lambda values: add_up_twice(values))
    assert entry(np.arange(3.0)) == 8.0
    parts: dict[str, Any] = {"add_up": add_up, "add_up_twice": add_up_twice}
    copied = {
        name: any("alwaysinline" in line for line in made.library.get_llvm_str().splitlines())
        for name, part in parts.items()
        for made in part.overloads.values()
    }
    assert copied == {"add_up": False, "add_up_twice": True}


def test_garbage_is_collected_as_usual_after_compiling() -> None:
    before = gc.get_threshold()
    with pytest.raises(RuntimeError, match="stop"), collect_less_garbage():
        assert gc.get_threshold()[0] > before[0]
        raise RuntimeError("stop")
    assert gc.get_threshold() == before


def test_the_fingerprint_of_a_folder_covers_the_folders_in_it(tmp_path: Path) -> None:
    within = tmp_path / "cells" / "search.py"
    within.parent.mkdir()
    within.write_text("from nasgoat.compiled import compiled_inline\n")
    before = _digest(tmp_path)
    _digest.cache_clear()
    within.write_text("from nasgoat.compiled import compiled_inline  # changed\n")
    assert _digest(tmp_path) != before


@needs_machine_code
def test_all_of_branch_and_bound_shares_one_fingerprint() -> None:
    from nasgoat.acquisition.branch.cells import search as cells
    from nasgoat.acquisition.branch.declared import search as declared
    from nasgoat.acquisition.branch.exponential import enumeration

    folder = Path(cells.__file__).parents[1]
    functions: tuple[Any, ...] = (
        cells.search,
        declared.search_declared,
        enumeration.search_labellings,
    )
    assert {function.__qualname__.rpartition("_")[2] for function in functions} == {_digest(folder)}

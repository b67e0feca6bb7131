"""Records of arrays in compiled code: what it reads and writes is what Python sees."""

# Numba has no annotations for these.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError
from numpy.typing import NDArray

from nasgoat.compiled import MACHINE_CODE, compiled_apart, compiled_inline
from nasgoat.compiled_records import RecordType, record

needs_machine_code = pytest.mark.skipif(not MACHINE_CODE, reason="NUMBA_DISABLE_JIT is set")
Floats = NDArray[np.float64]


@record
class Scales(NamedTuple):
    factor: Floats  # (n,)
    power: int


@record
class Sheet(NamedTuple):
    values: Floats  # (n, m)
    scales: Scales
    marks: NDArray[np.int8]  # (n,)


@compiled_inline
def _scale_row(sheet: Sheet, i: int) -> None:
    for j in range(sheet.values.shape[1]):
        sheet.values[i, j] *= sheet.scales.factor[i] ** sheet.scales.power


@compiled_apart
def _scale_all(sheet: Sheet) -> int:
    total = 0
    for i in range(len(sheet.values)):
        if sheet.marks[i] > 0:
            _scale_row(sheet, i)
            total += 1
    return total


def _make_entry() -> Any:
    options: dict[str, Any] = {"_nrt": False}
    return numba.njit(**options)(lambda sheet: _scale_all(sheet))


def _make_sheet(values: Floats) -> Sheet:
    n = len(values)
    scales = Scales(factor=np.arange(1.0, n + 1), power=2)
    return Sheet(values=values, scales=scales, marks=np.arange(n, dtype=np.int8) % 2)


@needs_machine_code
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_compiled_code_reads_and_writes_the_arrays_of_a_record(layout: str) -> None:
    values = np.arange(12.0).reshape(4, 3)
    if layout == "F":
        values = np.asfortranarray(values)
    if layout == "strided":
        values = np.repeat(values, 2, axis=1)[:, ::2]
    expected = values * np.array([1.0, 4.0, 1.0, 16.0])[:, None]
    sheet = _make_sheet(values)
    assert _make_entry()(sheet) == 2
    assert np.array_equal(sheet.values, expected)


@needs_machine_code
def test_each_call_sees_the_record_that_it_was_given() -> None:
    entry, first, second = _make_entry(), _make_sheet(np.ones((2, 2))), _make_sheet(np.ones((5, 1)))
    assert [entry(first), entry(second)] == [1, 2]
    assert first.values.tolist() == [[1.0, 1.0], [4.0, 4.0]]
    assert second.values[:, 0].tolist() == [1.0, 4.0, 1.0, 16.0, 1.0]


@needs_machine_code
def test_a_record_is_one_argument() -> None:
    entry = _make_entry()
    entry(_make_sheet(np.ones((2, 2))))
    ((sheet,),) = entry.signatures
    assert isinstance(sheet, RecordType)
    assert sheet == numba.typeof(_make_sheet(np.ones((7, 7))))
    assert sheet != numba.typeof(_make_sheet(np.ones((7, 14))[:, ::2]))


@needs_machine_code
def test_a_field_that_a_record_has_not_is_refused() -> None:
    entry: Any = numba.njit(lambda sheet: sheet.colour)
    with pytest.raises(TypingError, match="colour"):
        entry(_make_sheet(np.ones((2, 2))))


@needs_machine_code
def test_an_object_that_is_no_array_is_refused() -> None:
    entry = _make_entry()
    entry(_make_sheet(np.ones((2, 2))))
    wrong: Any = "one"
    with pytest.raises(TypingError):
        entry(_make_sheet(np.ones((2, 2)))._replace(marks=wrong))

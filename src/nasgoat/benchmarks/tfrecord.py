"""Reading TensorFlow's record files without TensorFlow.

A record is its length (8 bytes, little endian), the masked CRC-32C of these 8 bytes, the data, and
the masked CRC-32C of the data. The mask is ((crc >> 15) | (crc << 17)) + 0xa282ead8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import DataError

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_MASK = 0xA282EAD8
_LARGEST = 2**26  # bytes of a record; a longer one means that the file is not what it should be


def _table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        odd = np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
        table = ((table >> 1) ^ odd).astype(np.uint32)
    return table


_TABLE = _table()


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _crc(data: NDArray[np.uint8], table: NDArray[np.uint32]) -> np.uint32:
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def masked_crc32c(data: bytes) -> int:
    """The masked CRC-32C of some bytes.

    Example:
        >>> hex(masked_crc32c(b"123456789"))  # the check value 0xe3069283, masked
        '0xc78ab0e5'
    """
    crc = int(_crc(np.frombuffer(data, dtype=np.uint8), _TABLE)) & 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


def records(path: Path) -> Iterator[bytes]:
    """The data of each record, checked.

    Raises:
        DataError: If the file is cut short, or a checksum is wrong.
    """
    with path.open("rb") as file:
        place = 0
        while head := file.read(12):
            if len(head) < 12:
                raise DataError(_wrong(path, place, "it ends inside a record"))
            length, check = struct.unpack("<QI", head)
            if masked_crc32c(head[:8]) != check or length > _LARGEST:
                raise DataError(_wrong(path, place, "the length does not have its checksum"))
            body = file.read(length + 4)
            if len(body) < length + 4:
                raise DataError(_wrong(path, place, "it ends inside a record"))
            if masked_crc32c(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
                raise DataError(_wrong(path, place, "the data do not have their checksum"))
            yield body[:-4]
            place += 16 + length


def frame(data: bytes) -> bytes:
    """A record with its length and checksums, as :func:`records` reads it."""
    length = struct.pack("<Q", len(data))
    checks = (struct.pack("<I", masked_crc32c(part)) for part in (length, data))
    return length + next(checks) + data + next(checks)


def _wrong(path: Path, place: int, why: str) -> str:
    return (
        f"the record file {path.name} must be whole, got damage at byte {place}: {why}; "
        "download it again"
    )

"""TensorFlow's record files, read without TensorFlow.

A record is its length (8 bytes, little endian), the masked CRC-32C of these 8 bytes, the data, and
the masked CRC-32C of the data. The mask is ((crc >> 15) | (crc << 17)) + 0xa282ead8. Messages of
protocol buffers are read field by field.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.compiled import compiled
from nasgoat.errors import DataError

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types of a message
_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_MASK = 0xA282EAD8
_LARGEST = 2**26  # bytes of a record; a longer one means that the file is not what it should be


def read_fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol-buffer message: number, and value (bytes where it has a length).

    Example:
        >>> list(read_fields(bytes([0x10, 0x96, 0x01])))  # field 2, varint 150
        [(2, 150)]
    """
    place = 0
    while place < len(message):
        tag, place = _read_varint(message, place)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, place = _read_varint(message, place)
            yield number, value
        elif wire == _DOUBLE:
            yield number, struct.unpack_from("<d", message, place)[0]
            place += 8
        elif wire == _FLOAT:
            yield number, struct.unpack_from("<f", message, place)[0]
            place += 4
        elif wire == _BYTES:
            length, place = _read_varint(message, place)
            if place + length > len(message):
                raise ValueError("a field longer than its message")
            yield number, message[place : place + length]
            place += length
        else:
            raise ValueError(f"wire type {wire}")


def _read_varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a number longer than ten bytes")


def _make_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        odd = np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
        table = ((table >> 1) ^ odd).astype(np.uint32)
    return table


_TABLE = _make_table()


@compiled
def _compute_crc(data: NDArray[np.uint8], table: NDArray[np.uint32]) -> np.uint32:
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
    crc = int(_compute_crc(np.frombuffer(data, dtype=np.uint8), _TABLE)) & 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


def read_records(path: Path) -> Iterator[bytes]:
    """The data of each record, checked.

    Raises:
        DataError: If the file is cut short, or a checksum is wrong.
    """
    with path.open("rb") as file:
        place = 0
        while head := file.read(12):
            if len(head) < 12:
                raise _name_damage(path, place, "it ends inside a record")
            length, check = struct.unpack("<QI", head)
            if masked_crc32c(head[:8]) != check or length > _LARGEST:
                raise _name_damage(path, place, "the length does not have its checksum")
            body = file.read(length + 4)
            if len(body) < length + 4:
                raise _name_damage(path, place, "it ends inside a record")
            if masked_crc32c(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
                raise _name_damage(path, place, "the data do not have their checksum")
            yield body[:-4]
            place += 16 + length


def _name_damage(path: Path, place: int, why: str) -> DataError:
    return DataError(
        f"the record file {path.name} must be whole, got damage at byte {place}: {why}; "
        "download it again"
    )

"""The official file of NAS-Bench-101, turned into the compact table: the folder ``nb101``.

It is a TensorFlow record file, read without TensorFlow. A record is its length (8 bytes, little
endian), the masked CRC-32C of these 8 bytes, the data, and the masked CRC-32C of the data. The mask
is ((crc >> 15) | (crc << 17)) + 0xa282ead8. Messages of protocol buffers are read field by field.

Each record is a JSON list: module hash, epochs, adjacency as a string of 0 and 1, operations joined
by commas, and a base64 protocol-buffer message with the metrics of one training. Of that message we
read evaluation 2, the end of training (0 is the start, 1 half-way). The format is that of
github.com/google-research/nasbench.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.nasbench101 import ARRAYS, FOLDER
from nasgoat.benchmarks.table_files import find_data_folder
from nasgoat.compiled import compiled
from nasgoat.errors import DataError
from nasgoat.safe_files import replace_folder

_REPEATS = 3
_EVALUATION, _VALIDATION, _TEST = 1, 4, 5  # field numbers of the message
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types of a message
_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_MASK = 0xA282EAD8
_LARGEST = 2**26  # bytes of a record; a longer one means that the file is not what it should be


def import_nasbench101(source: Path) -> Path:
    """Turn ``nasbench_only108.tfrecord`` or ``nasbench_full.tfrecord`` into the compact table.

    Returns:
        The folder of the table, in the data folder.

    Raises:
        DataError: If the file is damaged or not of that format.
    """
    found: dict[bytes, dict[int, list[tuple[float, float]]]] = {}
    for data in read_records(source):
        key, budget, accuracies = read_record(data)
        found.setdefault(key, {}).setdefault(budget, []).append(accuracies)
    if not found:
        raise DataError(f"the file {source.name} must hold records, got none")
    hashes = sorted(found)
    epochs = sorted({budget for cell in found.values() for budget in cell})
    values = np.full((2, len(hashes), len(epochs), _REPEATS), np.nan, dtype=np.float32)
    for i, key in enumerate(hashes):
        for budget, runs in found[key].items():
            place = epochs.index(budget)
            for run, accuracies in enumerate(runs[:_REPEATS]):
                values[:, i, place, run] = accuracies
    hash16 = np.frombuffer(b"".join(hashes), dtype=np.uint8).reshape(-1, 16)
    return write_folder(hash16, np.array(epochs), values)


def write_folder(
    hash16: NDArray[np.uint8], epochs: NDArray[np.int_], values: NDArray[np.float32]
) -> Path:
    """Write the compact table of sorted hashes (N, 16) and accuracies (2, N, E, 3)."""
    with replace_folder(find_data_folder() / FOLDER) as folder:
        for name, array in zip(ARRAYS, (hash16, epochs, *values), strict=True):
            np.save(folder / f"{name}.npy", array)
    return find_data_folder() / FOLDER


def read_record(data: bytes) -> tuple[bytes, int, tuple[float, float]]:
    """Hash, epochs, and (validation, test) accuracy at the end of training, of one record."""
    try:
        module_hash, epochs, _, _, metrics = json.loads(data)
        # The official reader takes no notice of line breaks inside the text.
        message = base64.b64decode("".join(metrics.split()), validate=True)
        evaluations = [part for number, part in read_fields(message) if number == _EVALUATION]
        final = dict(read_fields(evaluations[2]))
        return bytes.fromhex(module_hash), int(epochs), (final[_VALIDATION], final[_TEST])
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, struct.error) as problem:
        raise DataError(
            f"a record must be one of NAS-Bench-101, got {problem!r}; "
            "give nasbench_only108.tfrecord or nasbench_full.tfrecord"
        ) from None


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


def compute_masked_crc32c(data: bytes) -> int:
    """The masked CRC-32C of some bytes.

    Example:
        >>> hex(compute_masked_crc32c(b"123456789"))  # the check value 0xe3069283, masked
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
            if compute_masked_crc32c(head[:8]) != check or length > _LARGEST:
                raise _name_damage(path, place, "the length does not have its checksum")
            body = file.read(length + 4)
            if len(body) < length + 4:
                raise _name_damage(path, place, "it ends inside a record")
            if compute_masked_crc32c(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
                raise _name_damage(path, place, "the data do not have their checksum")
            yield body[:-4]
            place += 16 + length


def _name_damage(path: Path, place: int, why: str) -> DataError:
    return DataError(
        f"the record file {path.name} must be whole, got damage at byte {place}: {why}; "
        "download it again"
    )

"""Records of arrays that compiled functions hand on by their address.

Numba passes a named tuple to a function by value: every array in it is some ten arguments, and a
search takes a hundred arrays. Most of the time to compile was spent on taking such tuples apart and
putting them together again, once for every function that hands one on. A class marked
:func:`record` is one argument, an address. Python still sees a named tuple.

Notation
    record  an instance of a ``NamedTuple`` class whose fields are arrays, numbers or other records
    layout  the LLVM structure that holds the values of the fields, one after another

This uses Numba's interface for new types: typing, data model, unboxing and attributes.
"""

# Numba and llvmlite have no annotations for what is extended here.
# mypy: disable-error-code="no-untyped-call, untyped-decorator, override, attr-defined"

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

from numba.core import cgutils, types
from numba.core.cgutils import ir  # llvmlite's, which comes with Numba
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

Record = TypeVar("Record", bound=tuple[Any, ...])

#: Places in Numba's structure of an array; those of who owns its memory come first.
_ITEMS, _ITEM_SIZE, _DATA, _SHAPE, _STRIDES = range(2, 7)


def record(cls: type[Record]) -> type[Record]:
    """Mark a ``NamedTuple`` class: compiled functions get its instances by their address.

    They can read the fields by name, and nothing else: no places, no taking apart, no new instance.
    Arrays may be written to; the fields themselves never change while compiled code runs.
    """
    typeof_impl.register(cls)(_find_type)
    return cls


class RecordType(types.Type):
    """The type of a record in compiled code.

    Args:
        cls: The class of the named tuple.
        members: The types of its fields.
    """

    def __init__(self, cls: type[Any], members: tuple[types.Type, ...]) -> None:
        self.cls, self.members = cls, members
        self.fields: tuple[str, ...] = cls._fields
        # Types are part of the names of compiled functions: those of all members would be long.
        digest = hashlib.sha256(repr(members).encode()).hexdigest()[:12]
        super().__init__(name=f"{cls.__name__}_{digest}")

    @property
    def key(self) -> tuple[Any, ...]:
        """What equal types have in common."""
        return self.cls, self.members

    def member(self, name: str) -> types.Type:
        """The type of a field."""
        return self.members[self.fields.index(name)]


def _find_type(value: tuple[Any, ...], context: Any) -> RecordType:
    return RecordType(type(value), tuple(typeof_impl(field, context) for field in value))


@register_model(RecordType)
class _Address(models.PrimitiveModel):
    """A record is held as an address without a type."""

    def __init__(self, manager: Any, record_type: RecordType) -> None:
        super().__init__(manager, record_type, cgutils.voidptr_t)


def _find_layout(context: Any, typ: RecordType) -> ir.LiteralStructType:
    return ir.LiteralStructType([context.get_value_type(member) for member in typ.members])


@unbox(RecordType)
def _unbox_record(typ: RecordType, record: Any, c: Any) -> NativeValue:
    """Write the fields to the stack of the function that Python calls; the call ends before it."""
    address = cgutils.alloca_once(c.builder, _find_layout(c.context, typ))
    failed = cgutils.false_bit
    for place, member in enumerate(typ.members):
        native = c.unbox(member, c.pyapi.tuple_getitem(record, place))
        c.builder.store(native.value, cgutils.gep_inbounds(c.builder, address, 0, place))
        failed = c.builder.or_(failed, native.is_error)
    return NativeValue(c.builder.bitcast(address, cgutils.voidptr_t), is_error=failed)


@infer_getattr
class _Fields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, typ: RecordType, name: str) -> types.Type | None:
        return typ.member(name) if name in typ.fields else None


@lower_getattr_generic(RecordType)
def _read_field(context: Any, builder: Any, typ: RecordType, value: Any, name: str) -> Any:
    """The value of a field, number by number.

    Loads are marked as invariant, so that they are moved out of loops whatever these write to; the
    mark would be lost on a whole structure. It holds because Numba never inlines a function into
    the one that Python calls, which fills the record: within compiled code no field ever changes.
    """
    layout, place = _find_layout(context, typ), typ.fields.index(name)
    address = builder.bitcast(value, layout.as_pointer())
    member, inner = typ.members[place], layout.elements[place]
    if not isinstance(member, types.Array):
        return _load(builder, address, place)
    array = ir.Constant(inner, None)  # no owner: compiled code keeps no array
    size = context.get_abi_sizeof(context.get_data_type(member.dtype))
    array = builder.insert_value(array, context.get_constant(types.intp, size), _ITEM_SIZE)
    leaves: list[tuple[int, ...]] = [(_ITEMS,), (_DATA,)]
    leaves += [(x, axis) for x in (_SHAPE, _STRIDES) for axis in range(member.ndim)]
    for path in leaves:
        array = builder.insert_value(array, _load(builder, address, place, *path), path)
    return array


def _load(builder: Any, address: Any, *path: int) -> Any:
    """The number at the end of a path of places into nested structures."""
    number = builder.load(cgutils.gep_inbounds(builder, address, 0, *path))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number

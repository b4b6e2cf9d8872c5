"""The weights files of a bundle: constants that are bytes, not C."""

from typing import Annotated

from attrs import frozen

from target_arch.plan.constants_form import ConstantsForm
from target_arch.soc.schema.records import PathInside


@frozen(kw_only=True)
class WeightEntry:
    """A constant in a weights file."""

    name: Annotated[str, "of the tensor: as in the model file, or of the kernel that takes it packed"]
    offset: Annotated[int, "of its first byte in the file"]
    bytes: int
    crc32c: Annotated[str, "CRC-32C of its bytes, in hexadecimal"]


@frozen(kw_only=True)
class WeightsFileEntry:
    """A weights file: the bytes of the constants of one model in one pool, then their checks."""

    file: Annotated[str, PathInside(), "its path in the bundle"]
    model: Annotated[str, "the model whose constants it has"]
    pool: Annotated[str, "the pool that its bytes are planned in, one of `pools`"]
    bytes: Annotated[int, "of the file"]
    alignment: Annotated[int, "of the address that it is used at"]
    program: Annotated[
        str, "64 bits in hexadecimal: a file with another number is for another program, and is refused"
    ]
    address: Annotated[
        int | None, "where programs of the bundle expect it on a machine without files; else null"
    ]
    emulator: Annotated[
        tuple[str, ...], "words of the emulator's command, before the last one, that put it there"
    ]
    tensors: Annotated[tuple[WeightEntry, ...], "the constants by offset"]


@frozen(kw_only=True)
class WeightsEntry:
    """The form of constants that are bytes, and their files."""

    constants: Annotated[
        ConstantsForm,
        "`section` or `file`, see [Memory plans](memory.md#weights-as-bytes); absent where constants are C",
    ]
    weights: Annotated[tuple[WeightsFileEntry, ...], "the files; absent where constants are C"]

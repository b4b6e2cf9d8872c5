"""Constants as bytes: the weights files of a bundle, the tables by which its program knows them, and the
functions that check them before anything runs.

A weights file has the bytes of one arena of constants, then its checks (`runtime_c/weights/weights.h`). It is
for one program: the C of the bundle without what follows from the values of constants alone.
"""

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from target_arch.backend.port import ADDRESS
from target_arch.emit.crc32c import crc32c
from target_arch.emit.model.arenas import EmittedArena, constants_of
from target_arch.emit.model.constants import constant_bytes, padded_bytes
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.lent import is_bound
from target_arch.emit.model.naming import macro, soc_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment, string
from target_arch.emit.text.sections import define_section_name, section_name_macro
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.manifest.weights import WeightEntry, WeightsEntry, WeightsFileEntry
from target_arch.plan.model import Tensor

FOLDER = "weights"
VARIABLE = "TARGET_ARCH_WEIGHTS"
"""Of the environment: the folder of the weights files that programs map."""
_MAGIC = b"TAW1"
_SECTOR = 4096
"""Flash is written in units of this many bytes, or of a divisor of them."""

_CHECKS, _SUM = 20, 4
"""Bytes of the checks of a file, and of each tensor's part of them."""

_USE = """
/* Use the bytes of weights/{file} at this address from now on: a flash partition, or a file that
 * the program mapped{own}.
 * The address is a multiple of {alignment}, and `bytes` are {size}, in memory
 * `{memory}`{anywhere}. They stay the caller's and unchanged for as long as they are used. Every tensor
 * is compared with its CRC; see ta_weights_use. Not between init and stop. */
ta_status {symbol}_use(const void *start, uint32_t bytes);"""

_DAMAGED = """
/* Where init{or_use} answered TA_ERROR_CORRUPT because of weights: the name of
 * the first tensor that is not whole, "checks" where the CRCs themselves are not, or that of a file that is
 * not there. NULL otherwise. */
const char *{bundle}_damaged_weights(void);"""


@frozen(kw_only=True)
class EmittedWeights:
    """The constants of one arena as a file: its tensors with their offsets, in their order. `address` is
    where the programs of the bundle expect the file, on a machine without files.
    """

    member: Member
    arena: EmittedArena
    tensors: tuple[tuple[int, Tensor], ...]
    address: int | None = None

    @property
    def symbol(self) -> str:
        """The C name of the bytes; that of their table ends with `_weights`."""
        return self.arena.symbol

    @property
    def file(self) -> str:
        """The plain name of the file."""
        return f"{self.symbol}.bin"

    @property
    def path(self) -> str:
        """The path of the file in the bundle."""
        return f"{FOLDER}/{self.file}"

    @property
    def bytes(self) -> int:
        """Of the arena, which the checks follow."""
        return padded_bytes(self.arena)

    @property
    def file_bytes(self) -> int:
        """Of the file."""
        return self.bytes + _CHECKS + _SUM * len(self.tensors)

    @property
    def layout(self) -> str:
        """The tensors as text: where it is the same, names, types, shapes and places are."""
        lines = (f"{offset} {tensor.name} {tensor.dtype} {tensor.shape}\n" for offset, tensor in self.tensors)
        return f"{self.symbol} {self.bytes}\n" + "".join(lines)


def weights_of(inputs: EmitInputs, every: Sequence[EmittedArena]) -> tuple[EmittedWeights, ...]:
    """The weights files of the bundle; none where constants are text."""
    if inputs.constants is ConstantsForm.TEXT:
        return ()
    weights = [
        EmittedWeights(member=member, arena=arena, tensors=_tensors(member, arena))
        for member in inputs.members
        for arena in constants_of(member, every)
    ]
    if inputs.constants is ConstantsForm.FILE and inputs.port.bare_metal is not None:
        return _in_partitions(inputs, weights)
    return tuple(weights)


def _in_partitions(inputs: EmitInputs, weights: Sequence[EmittedWeights]) -> tuple[EmittedWeights, ...]:
    """The weights with addresses: partitions at the end of each memory, the first one last."""
    ends = {memory.name: (memory.base or 0) + memory.size for memory in inputs.soc.memories}
    placed = []
    for one in weights:
        memory = one.arena.pool.memory
        ends[memory] = (ends[memory] - one.file_bytes) // _SECTOR * _SECTOR
        placed.append(evolve(one, address=ends[memory]))
    return tuple(placed)


def partitions(weights: Iterable[EmittedWeights]) -> dict[str, int]:
    """The first address of partitions, by the memory that they are in."""
    return {one.arena.pool.memory: one.address for one in weights if one.address is not None}


def _tensors(member: Member, arena: EmittedArena) -> tuple[tuple[int, Tensor], ...]:
    return tuple(
        (offset, member.constant(buffer.tensor or buffer.name))
        for offset, buffer in arena.buffers
        if buffer.bytes
    )


def program_number(weights: Iterable[EmittedWeights], texts: Mapping[str, str]) -> int:
    """64 bits over all that weights must fit: the C of the bundle's library, and the places of tensors."""
    number = hashlib.sha256()
    for one in weights:
        number.update(one.layout.encode())
    for path in sorted(texts):
        number.update(f"{path} {len(texts[path])}\n{texts[path]}".encode())
    return int.from_bytes(number.digest()[:8], "little")


@frozen(kw_only=True)
class WeightsFile:
    """A weights file: its content and its entry of the manifest."""

    content: bytes
    entry: WeightsFileEntry


def weights_file(weights: EmittedWeights, program: int, emulator: tuple[str, ...]) -> WeightsFile:
    """The file of these weights; an `emulator` takes it by these words. ValueError where a constant has no
    data, or not as much as it needs.
    """
    sums = [crc32c(_data(tensor)) for _, tensor in weights.tensors]
    checks = _MAGIC + struct.pack(f"<IQ{len(sums)}I", len(sums), program, *sums)
    bytes_of_arena = constant_bytes(weights.member, weights.arena)
    content = b"".join((bytes_of_arena, checks, struct.pack("<I", crc32c(checks))))
    entries = (
        WeightEntry(name=tensor.name, offset=offset, bytes=tensor.bytes, crc32c=f"0x{found:08x}")
        for (offset, tensor), found in zip(weights.tensors, sums, strict=True)
    )
    entry = WeightsFileEntry(
        file=weights.path,
        model=weights.member.name,
        pool=str(weights.arena.pool),
        bytes=len(content),
        alignment=weights.arena.alignment,
        program=f"0x{program:016x}",
        address=weights.address,
        emulator=emulator,
        tensors=tuple(entries),
    )
    return WeightsFile(content=content, entry=entry)


def loading(inputs: EmitInputs, weights: EmittedWeights) -> tuple[str, ...]:
    """The words for the port's emulator that put the file at its address, with FILE for its path."""
    bare = inputs.port.bare_metal
    if bare is None or weights.address is None:
        return ()
    return tuple(word.replace(ADDRESS, f"0x{weights.address:x}") for word in bare.load_file)


def _data(tensor: Tensor) -> bytes:
    if tensor.data is None or len(tensor.data) != tensor.bytes:
        held = "no data" if tensor.data is None else f"{len(tensor.data)} B"
        raise ValueError(f"constant `{tensor.name}` needs {tensor.bytes} B and holds {held}")
    return tensor.data


def weights_entry(inputs: EmitInputs, files: Sequence[WeightsFile]) -> WeightsEntry | None:
    """The part of the manifest about weights files; None where constants are text."""
    if not files:
        return None
    return WeightsEntry(constants=inputs.constants, weights=tuple(file.entry for file in files))


def weights_source(inputs: EmitInputs, of: Sequence[EmittedWeights], program: int) -> str:
    """`src/<model>_constants.c`: the tables of the weights of one model; with their bytes, where these are
    linked.
    """
    linked = inputs.constants is ConstantsForm.SECTION
    out = Emitter()
    out.line(f"/* Constants of `{comment(of[0].member.name)}`: their bytes are in {FOLDER}. */")
    out.line(f"#include <{inputs.soc.name}_soc.h>")
    out.lines(("", f'#include "{inputs.stem}_internal.h"'))
    if linked:
        out.lines(("", "#if !defined(__GNUC__) || !defined(__ELF__)"))
        out.line(
            '#error "these constants need GNU\'s assembler and ELF: compile the model with constants as text"'
        )
        out.line("#endif")
    for pool in dict.fromkeys(one.arena.pool for one in of if linked):
        out.line()
        define_section_name(out, pool)
    for one in of:
        _table(out, inputs, one, program)
    return out.text()


def _table(out: Emitter, inputs: EmitInputs, one: EmittedWeights, program: int) -> None:
    symbol, linked = one.symbol, inputs.constants is ConstantsForm.SECTION
    rows = [f"{{{string(tensor.name)}, {offset}, {tensor.bytes}}}," for offset, tensor in one.tensors]
    out.line()
    if linked:
        _bytes(out, one)
    else:
        bound = int(any(is_bound(inputs, one.member, buffer.name) for _, buffer in one.arena.buffers))
        out.line(f"static const void *{symbol}_start;")
        out.line(f"const ta_lent {symbol}_lent = {{&{symbol}_start, {one.arena.alignment}, 0, {bound}}};")
    out.table(f"static const ta_weight {symbol}_tensors", rows)
    out.line()
    places = (
        f"{symbol}, {symbol}_checks, NULL, NULL" if linked else f"NULL, NULL, &{symbol}_start, &{symbol}_lent"
    )
    out.line(f"const ta_weights {symbol}_weights = {{")
    with out.indent():
        out.line(f"{string(one.file)}, {symbol}_tensors, {len(rows)}, {one.bytes}, 0x{program:016x}ULL,")
        out.line(f"{places}, {macro(inputs, 'MEMORY', one.arena.pool.memory)},")
    out.line("};")


def _bytes(out: Emitter, one: EmittedWeights) -> None:
    """The bytes of an arena in its section, and its checks among other tables."""
    section = section_name_macro(one.arena.pool)
    checks = _CHECKS + _SUM * len(one.tensors)
    out.line("__asm__(")
    with out.indent():
        out.line(f'".section " {section} ", \\"a\\"\\n"')
        out.lines(_incbin(one.symbol, one.arena.alignment, f'\\"{one.file}\\", 0, {one.bytes}'))
        out.line(f'".section .rodata.{one.symbol}_checks, \\"a\\"\\n"')
        out.lines(_incbin(f"{one.symbol}_checks", 4, f'\\"{one.file}\\", {one.bytes}, {checks}'))
        out.line('".text\\n"')
    out.line(");")


def _incbin(symbol: str, alignment: int, what: str) -> tuple[str, ...]:
    return (
        f'".balign {alignment}\\n"',
        f'".globl {symbol}\\n"',
        f'".type {symbol}, %object\\n"',
        f'"{symbol}:\\n"',
        f'".incbin {what}\\n"',
        f'".size {symbol}, . - {symbol}\\n"',
    )


def weights_declarations(inputs: EmitInputs, weights: Iterable[EmittedWeights]) -> Iterable[str]:
    """The declarations that the sources of a bundle share."""
    for one in weights:
        yield f"extern const ta_weights {one.symbol}_weights;"
        if inputs.constants is ConstantsForm.SECTION:
            yield f"extern const uint8_t {one.symbol}[{one.bytes}];"
            yield f"extern const uint8_t {one.symbol}_checks[{_CHECKS + _SUM * len(one.tensors)}];"
        else:
            yield f"extern const ta_lent {one.symbol}_lent;"


def weights_header(inputs: EmitInputs, weights: Sequence[EmittedWeights]) -> tuple[str, ...]:
    """The declarations of a bundle's header about its weights files; nothing where constants are text."""
    if not weights:
        return ()
    files = weights if inputs.constants is ConstantsForm.FILE else ()
    uses = tuple(_use(inputs, one) for one in files)
    return (*uses, _DAMAGED.format(bundle=inputs.stem, or_use=", or a function above," if uses else ""))


def _use(inputs: EmitInputs, one: EmittedWeights) -> str:
    bound = any(is_bound(inputs, one.member, buffer.name) for _, buffer in one.arena.buffers)
    return _USE.format(
        file=one.file,
        own=_finding(inputs, one),
        alignment=one.arena.alignment,
        size=f"at least {one.file_bytes:,}",
        memory=comment(one.arena.pool.memory),
        anywhere="" if bound else " or any other that the host reads",
        symbol=one.symbol,
    )


def _finding(inputs: EmitInputs, one: EmittedWeights) -> str:
    """How init comes to the file, where no address was named."""
    if inputs.port.hosted.simulates:
        return ".\n * Where no address was named, init maps the file itself: see ta_weights_map"
    if one.address is not None:
        return f".\n * Where no address was named, it is {_address(one)}"
    return ""


def _address(one: EmittedWeights) -> str:
    return f"{one.symbol.upper()}_ADDRESS"


def address_macros(weights: Iterable[EmittedWeights]) -> tuple[str, ...]:
    """The addresses of partitions, for builds that name no others."""
    return tuple(
        line
        for one in weights
        if one.address is not None
        for line in (f"#ifndef {_address(one)}", f"#define {_address(one)} 0x{one.address:x}u", "#endif")
    )


def weights_functions(inputs: EmitInputs, weights: Sequence[EmittedWeights]) -> dict[str, tuple[str, ...]]:
    """The statements of these functions by signature; nothing where constants are text."""
    if not weights:
        return {}
    files = weights if inputs.constants is ConstantsForm.FILE else ()
    soc = soc_symbol(inputs)
    functions = {
        f"ta_status {one.symbol}_use(const void *start, uint32_t bytes)": (
            f"return ta_weights_use(&{one.symbol}_weights, &{soc}, NULL, start, bytes, &damaged);",
        )
        for one in files
    }
    return {**functions, f"const char *{inputs.stem}_damaged_weights(void)": ("return damaged;",)}


def weights_checks(inputs: EmitInputs, weights: Sequence[EmittedWeights]) -> tuple[str, ...]:
    """The calls of `init` that find the weights, and compare them with their CRCs."""
    soc = soc_symbol(inputs)
    if inputs.constants is ConstantsForm.SECTION:
        return tuple(f"ta_weights_check(&{one.symbol}_weights, port, &damaged)" for one in weights)
    if inputs.port.hosted.simulates:
        return tuple(f"ta_weights_map(&{one.symbol}_weights, &{soc}, port, &damaged)" for one in weights)
    return tuple(
        f"ta_weights_at(&{one.symbol}_weights, &{soc}, port, (const void *){_address(one)}, &damaged)"
        for one in weights
    )

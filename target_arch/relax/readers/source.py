"""The result of every model reader, and how a file's content is recognised."""

from attrs import frozen

from target_arch.relax.operators.program import RelaxProgram
from target_arch.relax.operators.states import StatePair
from target_arch.relax.readers.flatbuffer import TFLITE_IDENTIFIER

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "an ELF object file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (perhaps a Keras model)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "pt2"),
)


@frozen(kw_only=True)
class BoundedOutput:
    """An output, by its number, of which another one, `count`, says how much there is along an axis."""

    output: int
    axis: int
    count: int


@frozen(kw_only=True, eq=False)
class Imported:
    """A program as a reader found it, the authors' names of its outputs, its states, and the outputs of
    bounded size.
    """

    program: RelaxProgram
    outputs: tuple[str, ...]
    states: tuple[StatePair, ...] = ()
    bounded: tuple[BoundedOutput, ...] = ()


def content_kind(data: bytes) -> str | None:
    """`tflite`, `onnx`, `pt2` or `relax` by content, a description of another known file type, or None if the
    content is not recognised.
    """
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data.startswith(b'{"root_index":'):
        return "relax"
    if data[4:8] == TFLITE_IDENTIFIER:
        return "tflite"
    if _looks_like_onnx(data):
        return "onnx"
    return "a text file" if _is_text(data[:512]) else None


def _looks_like_onnx(data: bytes) -> bool:
    """A protobuf whose first field is ModelProto.ir_version (tag 0x08) with a value of one byte, then another
    field.
    """
    return (
        len(data) > 4
        and data[0] == 0x08
        and data[1] < 0x40
        and data[2] in (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42)
    )


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in "\r\n\t" for character in text)

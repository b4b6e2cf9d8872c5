"""The reader of command streams, on streams written by hand; and tensors moved to regions of their own."""

import struct

import pytest

from target_arch.backends.ethos_u.relocate import RelocatedTensor, relocated
from target_arch.backends.ethos_u.stream import CODES, BadStream, commands, reach, written

STOP = written((0, 0), 0xFFFF)
CONV, POOL, ELEMENTWISE, DMA = (0, 2), (0, 5), (0, 6), (0, 0x10)


def sets(**registers: int) -> bytes:
    return b"".join(written(CODES[name], value) for name, value in registers.items())


def a_map(name: str, region: int, base: int, sizes: tuple[int, int, int]) -> bytes:
    """An int8 feature map of (height, width, depth) in NHWC, all in one tile."""
    height, width, depth = sizes
    values = {
        "REGION": region,
        "BASE0": base,
        "PRECISION": 1,
        "HEIGHT0_M1": height - 1,
        "HEIGHT1_M1": height - 1,
        "WIDTH0_M1": width - 1,
        "STRIDE_X": depth,
        "STRIDE_Y": width * depth,
        "STRIDE_C": 0,
    }
    text = sets(**{f"{name}_{key}": value for key, value in values.items()})
    if name == "OFM":
        return text + sets(OFM_HEIGHT_M1=height - 1, OFM_WIDTH_M1=width - 1, OFM_DEPTH_M1=depth - 1)
    return text + (sets(IFM_DEPTH_M1=depth - 1) if name == "IFM" else b"")


WINDOW = sets(
    KERNEL_STRIDE=0b011,  # strides of 2
    KERNEL_HEIGHT_M1=2,
    KERNEL_WIDTH_M1=2,
    IFM_PAD_TOP=0,
    IFM_PAD_BOTTOM=1,
    IFM_PAD_LEFT=0,
    IFM_PAD_RIGHT=1,
)
WEIGHTS = sets(
    WEIGHT_REGION=0, WEIGHT_BASE=32, WEIGHT_LENGTH=100, SCALE_REGION=0, SCALE_BASE=0, SCALE_LENGTH=20
)


def test_a_convolution_reaches_its_maps_and_weights() -> None:
    stream = a_map("IFM", 3, 64, (8, 8, 4)) + a_map("OFM", 1, 0, (4, 4, 16)) + WINDOW + WEIGHTS
    found = reach(stream + written(CONV, 0) + STOP)
    assert found.read == {3: 64 + 8 * 8 * 4, 0: 132}
    assert found.written == {1: 4 * 4 * 16}
    assert found.ends() == {0: 132, 1: 256, 3: 320}


def test_bricks_of_sixteen_channels_are_whole() -> None:
    bricks = a_map("OFM", 1, 0, (4, 4, 20)) + sets(
        OFM_PRECISION=1 | 1 << 6, OFM_STRIDE_Y=2 * 64, OFM_STRIDE_C=64
    )
    stream = a_map("IFM", 3, 0, (8, 8, 4)) + bricks + WINDOW
    assert reach(stream + written(POOL, 0) + STOP).written == {1: 4 * 2 * 64}


def test_a_second_operand_counts_unless_it_is_a_number() -> None:
    maps = a_map("IFM", 3, 0, (4, 4, 8)) + a_map("IFM2", 4, 0, (4, 4, 8)) + a_map("OFM", 5, 0, (4, 4, 8))
    for repeated, end in ((0, 128), (3, 8), (7, 1)):
        stream = maps + sets(IFM2_BROADCAST=repeated) + written(ELEMENTWISE, 1) + STOP
        assert reach(stream).read == {3: 128, 4: end}
    stream = maps + sets(IFM2_BROADCAST=1 << 7) + written(ELEMENTWISE, 1) + STOP
    assert reach(stream).read == {3: 128}


def test_a_transfer_into_the_unit_writes_no_memory() -> None:
    source = sets(DMA0_SRC_REGION=0, DMA0_SRC=16, DMA0_LEN=48, DMA0_DST=0)
    assert reach(source + sets(DMA0_DST_REGION=0x103) + written(DMA, 0) + STOP).ends() == {0: 64}
    assert reach(source + sets(DMA0_DST_REGION=1) + written(DMA, 0) + STOP).ends() == {0: 64, 1: 48}


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"\0\0", "2 B are no whole words"),
        (struct.pack("<I", 0xC000), "word 0 is 0x0000c000, no command"),
        (written(CODES["IFM_BASE0"], 1)[:4], "its last command is cut short"),
        (b"", "it does not end with the command STOP"),
        (STOP + STOP, "commands follow the command STOP"),
        (written((0, 0x55), 0) + STOP, "it has the unknown command 0x055"),
        (written(POOL, 0) + STOP, "an operation starts before OFM_HEIGHT_M1 is set"),
        (
            sets(DMA0_SRC_REGION=1 << 9, DMA0_LEN=1) + written(DMA, 0) + STOP,
            "it has a DMA transfer of more than one dimension",
        ),
    ],
)
def test_what_is_no_stream(stream: bytes, reason: str) -> None:
    with pytest.raises(BadStream) as refused:
        reach(stream)
    assert str(refused.value) == reason


def test_commands_are_those_that_vela_knows() -> None:
    """Vela brings Arm's own list."""
    registers = pytest.importorskip("ethosu.vela.ethos_u55_regs.ethos_u55_regs")
    theirs = {(0, each.value): each.name for each in registers.cmd0}
    theirs |= {(1, each.value): each.name for each in registers.cmd1}
    for name, code in CODES.items():
        assert theirs[code] == f"NPU_SET_{name}"
    operations = {"CONV": 2, "DEPTHWISE": 3, "POOL": 5, "ELEMENTWISE": 6, "DMA_START": 0x10, "STOP": 0}
    for name, number in operations.items():
        assert theirs[0, number] == f"NPU_OP_{name}"


def test_two_inputs_in_one_region_get_regions_of_their_own() -> None:
    maps = a_map("IFM", 3, 0, (4, 4, 8)) + a_map("IFM2", 3, 128, (4, 4, 8)) + a_map("OFM", 4, 0, (4, 4, 8))
    add = sets(IFM2_BROADCAST=0) + written(ELEMENTWISE, 1)
    again = sets(IFM_BASE0=128, IFM2_BASE0=0) + written(ELEMENTWISE, 1)
    moves = (
        RelocatedTensor(source=3, offset=0, bytes=128, target=3),
        RelocatedTensor(source=3, offset=128, bytes=128, target=4),
        RelocatedTensor(source=4, offset=0, bytes=128, target=5),
    )
    stream = relocated(maps + add + again + STOP, moves)
    assert reach(stream).ends() == {3: 128, 4: 128, 5: 128}
    operations = [value for code, value in commands(stream) if code == ELEMENTWISE]
    assert operations == [1, 1]
    last = dict(commands(stream))
    assert (last[CODES["IFM_REGION"]], last[CODES["IFM2_REGION"]]) == (4, 3)


def test_a_stream_whose_tensors_stay_is_left_as_it_is() -> None:
    stream = a_map("IFM", 3, 0, (4, 4, 8)) + STOP
    assert relocated(stream, (RelocatedTensor(source=3, offset=0, bytes=128, target=3),)) is stream

"""The driver's registers, and what the simulator says of a command that is not right."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.backends.ethos_u.registers import REGISTERS, VALUES, header
from tests.backends.conftest import FLAGS, HERE, RUNTIME, UNDEFINED
from tests.backends.engines import Window

OK, ARGUMENT, STATE, DEVICE, IMAGE = 0, 1, 3, 7, 8
OFFSETS = {name: offset for name, offset, _ in REGISTERS}
BASE = 0x1_2100_0000
STREAM, WEIGHTS, SCRATCH, INPUT, OUTPUT = (BASE + offset for offset in (0, 16, 32, 96, 128))
WORDS = (4, 3, 3, 0x1807)
OPERANDS = (STREAM, WEIGHTS, SCRATCH, INPUT, OUTPUT)


class Unit:
    """One unit with a memory of 160 B: stream, weights, scratch, input, output."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.memory = (ctypes.c_uint8 * 160)()
        self.memory[:4] = b"stop"
        self.memory[96:128] = range(32)
        self.windows = (Window * 1)(Window(0, 160, BASE, ctypes.addressof(self.memory)))
        library.engine_reset(self.windows, 1)

    def start(self, words: tuple[int, ...] = WORDS, operands: tuple[int, ...] = OPERANDS) -> int:
        given = (ctypes.c_uint32 * len(words))(*words), len(words)
        return int(
            self.library.engine_start(*given, (ctypes.c_uint64 * len(operands))(*operands), len(operands))
        )

    def poll(self) -> int:
        return int(self.library.engine_poll())

    def register(self, name: str, further: int = 0) -> int:
        self.library.engine_register.restype = ctypes.c_uint32
        return int(self.library.engine_register(OFFSETS[name] + further))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("unit") / "ethos_u.so"
    sources = [HERE / "engine_glue.c", Path(__file__).parent / "stand_in_glue.c"]
    sources += [RUNTIME / room / "ethos_u.c" for room in ("drivers", "simulators")]
    command = [needs_tool("gcc"), *FLAGS, *UNDEFINED, "-DENGINE=ethos_u", f"-I{RUNTIME / 'include'}"]
    subprocess.run([*command, *map(str, sources), "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


@pytest.fixture
def unit(library: ctypes.CDLL) -> Unit:
    return Unit(library)


def test_header_is_what_python_says() -> None:
    assert (RUNTIME / "drivers" / "ethos_u.h").read_text() == header()


def test_registers_and_bits_are_those_that_vela_knows() -> None:
    """Vela brings Arm's own list."""
    theirs = pytest.importorskip("ethosu.vela.ethos_u55_regs.ethos_u55_regs")
    for name, offset, _ in REGISTERS:
        known = theirs.BASE_POINTERS if name.startswith("BASEP") else theirs.BASE
        assert known[name].value == offset, name
    values = {name: value for name, value, _ in VALUES}
    fields = {
        "STATUS_RUNNING": (theirs.status_r, "state"),
        "STATUS_IRQ": (theirs.status_r, "irq_raised"),
        "STATUS_BUS_ERROR": (theirs.status_r, "bus_status"),
        "STATUS_RESETTING": (theirs.status_r, "reset_status"),
        "STATUS_PARSE_ERROR": (theirs.status_r, "cmd_parse_error"),
        "STATUS_END": (theirs.status_r, "cmd_end_reached"),
        "STATUS_ECC_FAULT": (theirs.status_r, "ecc_fault"),
        "CMD_RUN": (theirs.cmd_r, "transition_to_running_state"),
        "CMD_CLEAR_IRQ": (theirs.cmd_r, "clear_irq"),
    }
    for name, (register, bit) in fields.items():
        word = register()
        setattr(word.bits, bit, 1)
        assert word.word == values[name], name


def test_a_command_runs_with_every_address_where_the_unit_looks_for_it(unit: Unit) -> None:
    assert unit.start() == OK
    assert unit.poll() == OK
    assert bytes(unit.memory[128:]) == bytes(255 - value for value in range(32))
    regions = {0: WEIGHTS, 1: SCRATCH, 3: INPUT, 4: OUTPUT}
    for region, address in regions.items():
        low, high = (unit.register("BASEP0", 8 * region + half) for half in (0, 4))
        assert high << 32 | low == address
    assert (unit.register("QBASE0"), unit.register("QBASE1")) == (STREAM & 0xFFFFFFFF, STREAM >> 32)
    assert [unit.register(name) for name in ("QSIZE", "QCONFIG", "REGIONCFG")] == [4, 3, 3]


def test_nothing_may_live_in_the_scratch_meanwhile(unit: Unit) -> None:
    assert unit.start() == OK
    assert bytes(unit.memory[32:80]) == b"\x5a" * 48
    assert bytes(unit.memory[80:96]) == bytes(16)


def test_a_second_command_starts_after_the_first(unit: Unit) -> None:
    assert [unit.start(), unit.poll(), unit.start(), unit.poll()] == [OK] * 4


@pytest.mark.parametrize(
    ("words", "operands"),
    [
        (WORDS[:3], OPERANDS),
        (WORDS, OPERANDS[:4]),
        (WORDS, (*OPERANDS, *OPERANDS[:4])),
        (WORDS, (STREAM, WEIGHTS, SCRATCH + 8, INPUT, OUTPUT)),
    ],
    ids=["words", "few operands", "many operands", "alignment"],
)
def test_what_is_no_command(unit: Unit, words: tuple[int, ...], operands: tuple[int, ...]) -> None:
    assert unit.start(words, operands) == ARGUMENT


def test_a_stream_for_another_unit_is_refused(unit: Unit) -> None:
    unit.library.engine_write(OFFSETS["CONFIG"], 0x1806)
    assert unit.start() == IMAGE
    unit.library.engine_write(OFFSETS["CONFIG"], 0x1807)
    assert unit.start() == OK


def test_a_stream_that_is_not_the_bundle_s_is_a_fault(unit: Unit) -> None:
    unit.memory[0] ^= 1
    assert [unit.start(), unit.poll()] == [OK, DEVICE]


@pytest.mark.parametrize("number", range(5))
def test_an_address_without_its_bytes_is_a_fault(unit: Unit, number: int) -> None:
    operands = tuple(BASE + 160 if number == each else one for each, one in enumerate(OPERANDS))
    assert [unit.start(operands=operands), unit.poll()] == [OK, DEVICE]


def test_nothing_was_started(unit: Unit) -> None:
    assert unit.poll() == STATE

"""Verilated core and behavioural simulator, behind the same driver: the same bytes, status and faults."""

import ctypes
import random
import struct
import threading
from collections.abc import Iterable

import pytest

from target_arch.backends.conv2d_engine.registers import REGISTERS
from target_arch.plan.arithmetic import multiply_onnx, multiply_tflite, multiply_tflite_single
from tests.backends.engines import Window
from tests.backends.test_engine_registers import CODES, ONNX, TFLITE, VALUES

Libraries = dict[str, ctypes.CDLL]
Outcome = tuple[int, int, int, bytes]

NAMES = [name for name, _ in REGISTERS.words]
BAD = (0, -1, 65535, 65536, 128, 1 << 31, 200)


class Layer:
    """A random command on a random memory; sometimes a word, an address or a parameter is wrong."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        kernel = [chance.randint(1, 5) for _ in range(2)]
        channels = chance.choice([1, 1, 2, 3, 4, 7, 8, 16, 17, 33])
        filters = chance.randint(1, 20)
        source = [chance.randint(1, 9) for _ in range(2)]
        result = [chance.randint(1, 7), chance.randint(1, 9)]
        self.rounding = chance.randint(0, 2)
        clamp = sorted(chance.sample(range(-128, 128), 2)) if chance.random() < 0.4 else [-128, 127]
        values = [*source, channels, *result, filters, *kernel, chance.randint(1, 3), chance.randint(1, 3)]
        values += [chance.randrange(side) for side in kernel]
        values += [chance.randint(-128, 127), chance.randint(-128, 127), *clamp, self.rounding]
        self.words = [value & 0xFFFFFFFF for value in values]
        sizes = [
            source[0] * source[1] * channels,
            kernel[0] * kernel[1] * channels * filters,
            12 * filters,
            result[0] * result[1] * filters,
        ]
        places = [chance.randint(0, 20)]
        for size in sizes:
            places.append(places[-1] + size + chance.randint(0, 9))
        self.memory = bytearray(chance.randbytes(places.pop()))
        for channel in range(filters):
            struct.pack_into("<iii", self.memory, places[2] + 12 * channel, *self._parameters(chance))
        self.base = chance.choice([0, 0x1000, 0xFFF00000])
        self.addresses = [self.base + place for place in places]
        self._spoil(chance, sizes)

    def _parameters(self, chance: random.Random) -> tuple[int, int, int]:
        wild = chance.random() < 0.1
        bias = chance.randint(-(1 << 31), (1 << 31) - 1) if wild else chance.randint(-20000, 20000)
        if self.rounding == 1:
            shift = chance.randint(0, 62) if wild else chance.randint(20, 40)
            return bias, chance.randint(1 << 23, (1 << 24) - 1), shift
        shift = chance.randint(-31, 30) if wild else chance.randint(-14, 2)
        return bias, chance.randint(1 << 30, (1 << 31) - 1), shift

    def _spoil(self, chance: random.Random, sizes: list[int]) -> None:
        kind = chance.randrange(16)
        size = len(self.memory)
        if kind == 0:
            self.words[chance.randrange(12, len(NAMES))] = chance.choice(BAD) & 0xFFFFFFFF
        elif kind == 1:  # no size that fits: the tensors must not overlap
            self.words[chance.randrange(12)] = chance.choice((0, -1, 65536, 1 << 31)) & 0xFFFFFFFF
        elif kind == 2:
            which = chance.randrange(4)
            past = self.base + size - sizes[which] + 1  # by one byte
            self.addresses[which] = chance.choice([0xFFFFFFFF, self.base + size, past, past + size])

    def run(self, library: ctypes.CDLL) -> Outcome:
        """What `start` and `poll` answer, the status register, and the memory afterwards."""
        memory = ctypes.create_string_buffer(bytes(self.memory), len(self.memory))
        window = Window(0, len(self.memory), self.base, ctypes.addressof(memory))
        library.engine_reset(ctypes.byref(window), 1)
        words = (ctypes.c_uint32 * len(self.words))(*self.words)
        addresses = (ctypes.c_uint64 * 4)(*self.addresses)
        started = library.engine_start(words, len(self.words), addresses, 4)
        status = library.engine_register(REGISTERS.offsets["STATUS"])
        return started, library.engine_poll(), status, memory.raw


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_random_layers_are_equal_in_every_bit(libraries: Libraries, first: int) -> None:
    seen = set()
    for seed in range(first, first + 500):
        layer = Layer(seed)
        behaviour = layer.run(libraries["behaviour"])
        assert layer.run(libraries["rtl"]) == behaviour, seed
        seen.add(behaviour[2])
    assert seen == set(CODES.values()) - {CODES["NONE"]}


@pytest.mark.parametrize(
    ("rounding", "scales"), [(0, TFLITE), (1, ONNX), (2, TFLITE)], ids=["tflite", "onnx", "tflite_single"]
)
def test_requantization_is_exact_at_the_extremes(
    libraries: Libraries, rounding: int, scales: list[tuple[int, int]]
) -> None:
    scale = (multiply_tflite, multiply_onnx, multiply_tflite_single)[rounding]
    layer = Layer(0)
    layer.base = 0
    layer.words = [1] * 10 + [0, 0, 0, -7 & 0xFFFFFFFF, -128 & 0xFFFFFFFF, 127, rounding]
    for multiplier, shift in scales:
        near = [sign * ((1 << max(0, min(30, 31 + shift))) + d) for sign in (1, -1) for d in (-1, 0, 1)]
        biases = [*VALUES, *(value for value in near if abs(value) < 1 << 31)]
        layer.words[5] = len(biases)
        layer.memory = bytearray(16 + 64 + 12 * len(biases) + len(biases))
        layer.addresses = [0, 16, 80, 80 + 12 * len(biases)]
        for number, bias in enumerate(biases):
            struct.pack_into("<iii", layer.memory, 80 + 12 * number, bias, multiplier, shift)
        *_, status, memory = layer.run(libraries["rtl"])
        assert status == CODES["DONE"]
        expected = [min(max(scale(bias, multiplier, shift) - 7, -128), 127) for bias in biases]
        assert list(struct.unpack_from(f"{len(biases)}b", memory, layer.addresses[3])) == expected


class Simulator(ctypes.Structure):
    """`ta_simulator`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("register_count", ctypes.c_uint32),
        ("start_offset", ctypes.c_uint32),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)),
    )


def run_directly(library: ctypes.CDLL, layer: Layer) -> tuple[int, bytes]:
    """Status and memory, without driver: as a thread of the host port calls a simulator."""
    simulator = Simulator.in_dll(library, "ta_conv2d_engine_simulator")
    registers = (ctypes.c_uint32 * 256)(1, 0, *layer.addresses, *layer.words)
    memory = ctypes.create_string_buffer(bytes(layer.memory), len(layer.memory))
    window = Window(0, len(layer.memory), layer.base, ctypes.addressof(memory))
    assert simulator.run(ctypes.addressof(registers), ctypes.addressof(window), 1) == 0
    assert registers[0] == 0
    return registers[1], memory.raw


def test_cores_of_two_threads_do_not_know_each_other(libraries: Libraries) -> None:
    wrong: list[int] = []

    def work(seeds: Iterable[int]) -> None:
        for seed in seeds:
            if run_directly(libraries["rtl"], Layer(seed)) != expected[seed]:
                wrong.append(seed)

    expected = {seed: run_directly(libraries["behaviour"], Layer(seed)) for seed in range(5000, 5200)}
    threads = [threading.Thread(target=work, args=(range(5000 + n, 5200, 2),)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

"""Constants exact to the bit: emitted, compiled, and compared byte by byte."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.emit.build.build_files import FLAGS
from target_arch.emit.text.literals import literals
from target_arch.plan.model import Tensor

VALUES = {
    "int8": [-128, -1, 0, 127],
    "uint8": [0, 255],
    "int16": [-32768, 32767],
    "uint16": [0, 65535],
    "int32": [-(2**31), -(2**31) + 1, 0, 2**31 - 1],
    "uint32": [0, 2**32 - 1],
    "int64": [-(2**63), -1, 2**63 - 1],
    "float32": [0.0, -0.0, 1.5, -0.1, 1e-45, 3.4028235e38, 1.1754944e-38],
    "float16": [0.0, -0.0, 0.1, 6e-8, 65504.0, np.inf],
    "bool": [0, 1, 1],
}


def tensor(dtype: str, data: np.ndarray) -> Tensor:
    return Tensor(name=dtype, shape=data.shape, dtype=dtype, data=data.tobytes())


def compiled(tmp_path: Path, cc: str, constants: list[Tensor]) -> bytes:
    lines = ["#include <stdint.h>", "#include <stdio.h>"]
    writes = []
    for number, constant in enumerate(constants):
        made = literals(constant)
        lines.append(f"static const {made.c_type} c{number}[] = {{{made.items.text}}};")
        writes.append(f"fwrite(c{number}, 1, sizeof c{number}, stdout);")
    lines += ["int main(void) {", *writes, "return 0; }", ""]
    source = tmp_path / "constants.c"
    source.write_text("\n".join(lines))
    flags = FLAGS.split()
    program = tmp_path / "constants"
    subprocess.run([cc, *flags, "-o", str(program), str(source)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True).stdout


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_every_type_survives_the_compiler(tmp_path: Path, needs_tool: Callable[[str], str], cc: str) -> None:
    constants = [tensor(dtype, np.array(values, dtype=dtype)) for dtype, values in VALUES.items()]
    infinite = np.array([np.inf, -np.inf, 1.0], dtype=np.float32)
    payload = np.array([0x7FC01234, 0xFFC00001], dtype=np.uint32).view(np.float32)
    constants += [tensor("float32", infinite), tensor("float32", payload)]
    assert compiled(tmp_path, needs_tool(cc), constants) == b"".join(constant.data for constant in constants)


def test_text() -> None:
    assert literals(tensor("int32", np.array([-(2**31), 5], np.int32))).items.text == "(-2147483647-1), 5, "
    assert literals(tensor("float32", np.array([-0.0, 0.5], np.float32))).items.text == "-0x0p+0f, 0x1p-1f, "


def test_data_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="constant `w` needs 4 B and holds 3 B"):
        literals(Tensor(name="w", shape=(4,), dtype="int8", data=b"abc"))
    with pytest.raises(ValueError, match="constant `w` needs 4 B and holds no data"):
        literals(Tensor(name="w", shape=(4,), dtype="int8"))

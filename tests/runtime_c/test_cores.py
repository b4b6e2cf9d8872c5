"""The host port runs the kernels of cores at the same time, whether its threads look for work or sleep."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime_c.test_models import run_on_host_port

HERE = Path(__file__).parent


@pytest.mark.parametrize("looks", ["TA_HOST_SPIN_US=200u", "TA_HOST_SPIN_US=0"])
@pytest.mark.parametrize("sanitizer", ["plain", "tsan"])
def test_two_cores_meet_in_every_run(
    looks: str, sanitizer: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    """A thread sanitizer sees what each core wrote for the other without a lock."""
    needs_tool("gcc")
    lines = run_on_host_port("gcc", sanitizer, tmp_path, f"-D{looks}", str(HERE / "cores.c"))
    assert lines == ["500 runs, both cores in each"]

"""The summary `target-arch show` prints."""

from collections.abc import Callable

import pytest

from target_arch.soc import read_soc, shipped_socs, show


@pytest.mark.parametrize("name", shipped_socs())
def test_show(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"show-{name}", show(read_soc(name), {"c": "c", "gemm_npu": "command_stream"}) + "\n")

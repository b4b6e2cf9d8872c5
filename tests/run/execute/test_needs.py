"""What a port needs on this computer is looked for before its program starts."""

import pytest

from target_arch.run.execute.needs import require
from target_arch.run.tools.toolchain import ToolMissing


def test_a_program_that_is_missing_is_named() -> None:
    require(("sh",))
    with pytest.raises(ToolMissing) as caught:
        require(("sh", "no-such-probe"))
    assert str(caught.value) == (
        "no-such-probe: error: the port needs the program `no-such-probe` [tool-missing]\nhint: install it"
    )

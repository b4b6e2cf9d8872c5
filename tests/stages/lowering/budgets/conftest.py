"""Kernels of these tests stand for the bytes that they take: nothing says what they compute."""

from collections.abc import Iterator

import pytest

from target_arch.stages.lowering import ladder


@pytest.fixture(autouse=True, scope="module")
def unvalidated() -> Iterator[None]:
    """Lowering without the validation of what is computed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "check_meaning", lambda *values: None)
        yield

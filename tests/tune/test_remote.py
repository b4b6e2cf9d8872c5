"""Measuring through TVM's own tracker: one tracker, two servers on this computer, both at work."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest
from target_arch.soc import read_soc
from target_arch.tune import TuneRequest, tune
from tests.e2e.conftest import DIGITS

pytest.importorskip("tornado", reason="needs the extra `tune`")
pytest.importorskip("psutil", reason="needs the extra `tune`")

pytestmark = pytest.mark.slow
HOST, KEY = "127.0.0.1", "target_arch_test"
STARTS_WITHIN = 60.0


@pytest.fixture(scope="module")
def tracker() -> Iterator[Any]:
    """A tracker with two servers, ready."""
    from tvm.rpc.server import Server
    from tvm.rpc.tracker import Tracker

    made = Tracker(HOST, port=19190, port_end=19290, silent=True)
    address = (HOST, made.port)
    ports = (19300, 19400)
    servers = [
        Server(HOST, port=port, port_end=port + 99, key=KEY, tracker_addr=address, silent=True)
        for port in ports
    ]
    try:
        wait_for_servers(address, len(servers))
        yield address
    finally:
        for server in servers:
            server.terminate()
        made.terminate()


def wait_for_servers(address: tuple[str, int], count: int) -> None:
    from tvm import rpc

    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        found = rpc.connect_tracker(*address).summary()["server_info"]
        if sum(1 for each in found if each["key"] == f"server:{KEY}") == count:
            return
        time.sleep(0.5)
    raise AssertionError("the servers did not start")


def request(address: tuple[str, int], key: str = KEY, trials: int = 4) -> TuneRequest:
    compilation = CompileRequest(model_path=DIGITS, soc=read_soc("mcu_m7"))
    return TuneRequest(compilation=compilation, trials=trials, tracker=address, key=key)


@pytest.mark.long
def test_both_servers_measure(tracker: tuple[str, int]) -> None:
    report = tune(request(tracker))
    assert report.runners == 2
    assert all(gain.before > 0 and gain.refused < gain.measured for gain in report.gains)
    assert ", on 2 servers\n" in str(report)


@pytest.mark.long
def test_a_key_that_no_server_has(tracker: tuple[str, int]) -> None:
    with pytest.raises(DiagnosticError) as refusal:
        tune(request(tracker, "fast_board"))
    assert str(refusal.value) == (
        f"tracker {HOST}:{tracker[1]}: error: the tracker has no server of key `fast_board` [no-runner]\n"
        "hint: python -m tvm.exec.rpc_tracker and rpc_server start them; see docs/tuning.md"
    )


def test_a_tracker_that_is_not_there() -> None:
    with pytest.raises(DiagnosticError, match=r"tracker 127.0.0.1:9: error: the tracker does not answer"):
        tune(request((HOST, 9)))

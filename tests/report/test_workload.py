"""The report of a workload: its timeline and its response times."""

from pathlib import Path

from target_arch.cli import main
from target_arch.resources import examples

TWO = """schema = 1
[model.kws]
file = "digits_int8.onnx"
period = "2 ms"
[model.vww]
file = "digits_int8.onnx"
period = "4 ms"
"""


def test_the_workload_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "digits_int8.onnx").symlink_to(examples() / "digits" / "digits_int8.onnx")
    (tmp_path / "two.toml").write_text(TWO)
    words = ["compile", "--workload", str(tmp_path / "two.toml"), "--soc", "zynq_edge"]
    assert main([*words, "-o", str(tmp_path / "b")]) == 0
    assert main(["report", str(tmp_path / "b"), "--html", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    section = page.partition('<section class="card" id="workload">')[2].partition("</section>")[0]
    assert "<td>kws</td>" in section
    assert section.count("<title>kws\n") >= 4
    assert section.count("<title>vww\n") >= 2
    assert '<a href="#workload">Workload</a>' in page

"""Pictures of reports for the documents: `python -m benchmarks.screenshots`.

Compiles `digits` and `vww_96_int8` for the SoC `zynq_edge`, opens their reports in the system's Chromium and
writes `docs/pictures/`. Needs the extra `test`, chromium-headless-shell and the models in
`../shared/models`.
"""

import tempfile
from pathlib import Path

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.report import pictures, report_page
from target_arch.resources import examples
from target_arch.run import write_bundle
from target_arch.run.bundles.shown import read_report
from target_arch.soc import read_soc
from tests.report.browser import chromium, opened

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
MODELS = {
    "digits": examples() / "digits" / "digits_int8.onnx",
    "vww_96_int8": ROOT.parent / "shared" / "models" / "vww_96_int8.tflite",
}


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name, model in MODELS.items():
            made = compile_model(CompileRequest(model_path=model, soc=read_soc("zynq_edge"), name=name))
            write_bundle(made.bundle, Path(folder) / name)
            shown = read_report(Path(folder) / name)
            page = Path(folder) / f"{name}.html"
            page.write_text(report_page(shown), encoding="utf-8")
            for scheme in ("light", "dark"):
                with opened(browser, page, scheme, height=1500) as view:
                    view.screenshot(path=PICTURES / f"{name}-{scheme}.png")
                with opened(browser, page, scheme, height=1100) as view:
                    view.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
                    view.evaluate("document.querySelector('#timeline').scrollIntoView()")
                    view.screenshot(path=PICTURES / f"{name}-{scheme}-2.png")
            if name == "digits":
                for picture in ("chip", "timeline", "memory-sram"):
                    (PICTURES / f"{picture}.svg").write_text(
                        pictures(shown)[picture].alone(), encoding="utf-8"
                    )


if __name__ == "__main__":
    main()

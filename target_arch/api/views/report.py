"""A bundle, alone or compared with another one: as text, page, pictures and trace."""

from functools import partial
from pathlib import Path
from typing import TypedDict

import attrs
from attrs import frozen

from target_arch import report
from target_arch.api.shown import Shown
from target_arch.api.views.manifest_text import report_text
from target_arch.plan.manifest.bundle import Manifest
from target_arch.report.facts.compared import Figure, Moved
from target_arch.run.bundles.manifest import read_manifest
from target_arch.run.bundles.shown import read_report
from target_arch.soc import SoC
from target_arch.soc.schema.records import to_json


class ComparedBundles(TypedDict):
    """A model in both bundles: by its name there, the numbers, and the operators that are elsewhere."""

    before: str
    after: str
    figures: list[Figure]
    moved: list[Moved]


@frozen(kw_only=True, repr=False)
class Report(Shown[report.ShownBundle]):
    """The report of a bundle."""

    @property
    def pictures(self) -> dict[str, str]:
        """Every picture as a file of SVG that stands alone, by its name."""
        return {name: picture.alone() for name, picture in report.pictures(self.value).items()}

    @property
    def trace(self) -> dict[str, object]:
        """The simulated run in the Trace Event Format, which Perfetto's UI opens; see `report.trace`."""
        return report.trace(self.value)


def report_in(directory: Path) -> Report:
    """The report of the bundle in a folder. Raises as `run.bundles.shown.read_report` does."""
    return _report(read_report(directory), read_manifest(directory))


def report_on(manifest: Manifest, soc: SoC) -> Report:
    """The report of the bundle with that manifest, which is for that SoC."""
    return _report(report.read_shown(manifest, soc), manifest)


def _report(shown: report.ShownBundle, manifest: Manifest) -> Report:
    return Report(
        title=f"report of {shown.name}",
        value=shown,
        text=report_text(manifest),
        json=partial(_shown_json, shown),
        page=partial(report.report_page, shown),
    )


def compare(before: str | Path, after: str | Path) -> Shown[report.Compared]:
    """Two bundles by their folders: common facts, moved operators, and changed costs. Raises as
    `run.bundles.shown.read_report` does.
    """
    found = report.compared(read_report(Path(before)), read_report(Path(after)))
    return Shown(
        title=f"{before} beside {after}",
        value=found,
        text=report.comparison_text(found),
        json=partial(_compared_json, found),
        page=partial(report.comparison_page, found),
    )


def _shown_json(shown: report.ShownBundle) -> dict[str, object]:
    values = attrs.asdict(shown, filter=lambda attribute, _: attribute.name != "soc")
    return {**values, "soc": attrs.asdict(shown.soc)}


def _compared_json(found: report.Compared) -> list[ComparedBundles]:
    return [
        {
            "before": each.before.name,
            "after": each.after.name,
            "figures": to_json(each.figures),
            "moved": to_json(each.moved),
        }
        for each in found.models
    ]

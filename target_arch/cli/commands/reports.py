"""Commands that show what bundles are: report, compare."""

import argparse
import json
from pathlib import Path
from typing import Any

import attrs

from target_arch.cli.text.machine import firmware_text, image_text
from target_arch.cli.text.output import data, json_data, progress, unwritable, write_text
from target_arch.cli.text.report import report_text
from target_arch.diagnostics import refusal


def report(options: argparse.Namespace) -> int:
    """Print the manifest in a form for people, or write it as a page, pictures or a trace."""
    from target_arch.run import read_manifest

    if options.html or options.svg or options.perfetto or options.json:
        return _write_report(options)
    manifest = read_manifest(options.bundle)
    if options.image:
        return _report_image(options, manifest)
    if options.format == "json":
        json_data(manifest)
    else:
        data(report_text(manifest))
    return 0


def compare(options: argparse.Namespace) -> int:
    """Print what two bundles have in common and what moved, or write a page with pictures of both."""
    from target_arch.report import compared, comparison_page, comparison_text
    from target_arch.run.bundles.shown import read_report

    found = compared(read_report(options.before), read_report(options.after))
    if options.html is not None:
        _write(options.html, comparison_page(found))
    elif options.format == "json":
        json_data(
            [
                {
                    "before": each.before.name,
                    "after": each.after.name,
                    "figures": [attrs.asdict(figure) for figure in each.figures],
                    "moved": [attrs.asdict(moved) for moved in each.moved],
                }
                for each in found.models
            ]
        )
    else:
        data(comparison_text(found))
    return 0


def _write_report(options: argparse.Namespace) -> int:
    """Every file that was asked for."""
    from target_arch.report import pictures, report_page, trace
    from target_arch.run.bundles.shown import read_report

    shown = read_report(options.bundle)
    if options.html is not None:
        _write(options.html, report_page(shown))
    if options.perfetto is not None:
        _write(options.perfetto, json.dumps(trace(shown)) + "\n")
    if options.json is not None:
        values = attrs.asdict(shown, filter=lambda attribute, _: attribute.name != "soc")
        _write(
            options.json,
            json.dumps({**values, "soc": attrs.asdict(shown.soc)}, indent=2, sort_keys=True) + "\n",
        )
    if options.svg is not None:
        _folder(options.svg)
        for name, picture in pictures(shown).items():
            _write(options.svg / f"{name}.svg", picture.alone())
    return 0


def _folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    data(str(path))


def _report_image(options: argparse.Namespace, manifest: dict[str, Any]) -> int:
    """Build for the machine, record the sizes of the image in the manifest, and print them; 1 where they
    differ from the predicted ones.
    """
    from target_arch.run import build
    from target_arch.run.bundles.manifest import record_facts
    from target_arch.run.executables.firmware import described

    if manifest["machine"] is None and described(options.bundle):
        return _report_firmware(options, manifest)
    if manifest["machine"] is None:
        text = f"port `{manifest['port']}` runs on this computer, where there is no image to account for"
        raise refusal("no-machine", str(options.bundle), text, "compile with `--port qemu_mps2`")
    progress(f"building {options.bundle}")
    image = build(options.bundle).image
    found = None if image is None else image.to_json()
    record_facts(options.bundle, manifest, {"image": found})
    if options.format == "json":
        json_data(found)
    elif found is not None:
        data(image_text(found))
    return 1 if image is not None and image.differences else 0


def _report_firmware(options: argparse.Namespace, manifest: dict[str, Any]) -> int:
    """Build the firmware of every core, record its sizes in the manifest, and print them; 1 where they differ
    from the predicted ones.
    """
    from target_arch.run.bundles.manifest import record_facts
    from target_arch.run.executables.firmware import build_firmware

    progress(f"building the firmware of {options.bundle}")
    images = build_firmware(options.bundle, options.bundle / "build")
    facts = [image.to_json() for image in images]
    record_facts(options.bundle, manifest, {"firmware": facts})
    if options.format == "json":
        json_data(facts)
    else:
        data("\n".join(firmware_text(image) for image in images))
    return 1 if any(image.differences for image in images) else 0

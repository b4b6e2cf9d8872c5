"""Commands that show bundles: report, compare."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.cli.text.output import data, json_data, progress, shown, unwritable, write_text
from target_arch.soc.schema.records import to_json

if TYPE_CHECKING:
    from target_arch.api.bundle import Bundle


def report(options: argparse.Namespace) -> int:
    """Print the manifest in a form for people, or write it as a page, pictures or a trace."""
    from target_arch.api.bundle import Bundle

    bundle = Bundle(directory=options.bundle)
    if options.html or options.svg or options.perfetto or options.json:
        return _write_report(bundle, options)
    if options.image:
        return _report_images(bundle, options)
    if options.format == "json":
        json_data(to_json(bundle.manifest))
    else:
        data(str(bundle))
    return 0


def compare(options: argparse.Namespace) -> int:
    """Print what two bundles have in common and what moved, or write a page with pictures of both."""
    from target_arch.api.views.report import compare as compared

    found = compared(options.before, options.after)
    if options.html is not None:
        _write(options.html, found.page)
    else:
        shown(found, options.format)
    return 0


def _write_report(bundle: "Bundle", options: argparse.Namespace) -> int:
    """Every file that was asked for."""
    found = bundle.report()
    if options.html is not None:
        _write(options.html, found.page)
    if options.perfetto is not None:
        _write(options.perfetto, json.dumps(found.trace) + "\n")
    if options.json is not None:
        _write(options.json, json.dumps(found.json, indent=2, sort_keys=True) + "\n")
    if options.svg is not None:
        _folder(options.svg)
        for name, picture in found.pictures.items():
            _write(options.svg / f"{name}.svg", picture)
    return 0


def _folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    data(str(path))


def _report_images(bundle: "Bundle", options: argparse.Namespace) -> int:
    """Link the programs for machine or cores, and print their sizes; 1 where they differ from the predicted
    ones.
    """
    progress(f"building {options.bundle}")
    found = bundle.images()
    shown(found, options.format)
    return 1 if found.differences else 0

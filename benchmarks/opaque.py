"""How much of each model is in operators that no row of the table of kinds describes, and in those that TVM
lowers.

    python -m benchmarks.opaque [MODEL | FOLDER …] [--save FILE] [--against FILE]

Without models: those of `../shared/models` and `../shared/real_models/tflm`. `--save` keeps the shares,
`--against` prints them beside those of an earlier state.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import asdict

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.opaque import OpaqueShare, opaque_share
from target_arch.relax.importer import import_model

SHARED = Path(__file__).parents[2] / "shared"
FOLDERS = (SHARED / "models", SHARED / "real_models" / "tflm")
_SUFFIXES = (".tflite", ".onnx", ".pt2")
_HEAD = "| model | opaque multiply-accumulates | of all | opaque elements | of all | TVM's | which |"


def models(places: Sequence[Path]) -> Iterator[Path]:
    """The model files in these places, in order."""
    for place in places:
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (path for path in inside if path.suffix in _SUFFIXES)


def measured(path: Path) -> OpaqueShare | None:
    """The share of a model; None where it is refused."""
    try:
        return opaque_share(import_model(path)[0])
    except DiagnosticError:
        return None


def percent(some: int, every: int) -> str:
    return f"{100 * some / every:.2f} %" if every else "-"


def row(name: str, share: OpaqueShare, before: OpaqueShare | None) -> str:
    """A line of the table, with what there was before."""

    def beside(now: str, then: str) -> str:
        return now if before is None else f"{then} → {now}"

    old = before or share
    cells = (
        f"`{name}`",
        beside(percent(share.macs, share.all_macs), percent(old.macs, old.all_macs)),
        f"{share.all_macs:,}",
        beside(percent(share.elements, share.all_elements), percent(old.elements, old.all_elements)),
        f"{share.all_elements:,}",
        f"{percent(share.called_macs, share.all_macs)}, {percent(share.called_elements, share.all_elements)}",
        ", ".join(f"{which} {count:,}" for which, count in share.elements_of.items()),
    )
    return f"| {' | '.join(cells)} |"


def total(shares: Sequence[OpaqueShare]) -> OpaqueShare:
    """All of them as one."""
    names: dict[str, int] = {}
    for share in shares:
        for name, count in share.elements_of.items():
            names[name] = names.get(name, 0) + count
    return OpaqueShare(
        macs=sum(share.macs for share in shares),
        all_macs=sum(share.all_macs for share in shares),
        elements=sum(share.elements for share in shares),
        all_elements=sum(share.all_elements for share in shares),
        called_macs=sum(share.called_macs for share in shares),
        called_elements=sum(share.called_elements for share in shares),
        elements_of=dict(sorted(names.items(), key=lambda item: (-item[1], item[0]))),
    )


def main() -> int:
    """Print the table; 1 where a model is refused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("places", nargs="*", type=Path, metavar="MODEL | FOLDER")
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    options = parser.parse_args()
    earlier = {
        name: OpaqueShare(**fields)
        for name, fields in (json.loads(options.against.read_text()) if options.against else {}).items()
    }
    found = {path.name: measured(path) for path in models(options.places or FOLDERS)}
    shares = {name: share for name, share in found.items() if share is not None}
    print(_HEAD, "| --- | --- | ---: | --- | ---: | --- | --- |", sep="\n")
    for name, share in shares.items():
        print(row(name, share, earlier.get(name)))
    before = total([earlier[name] for name in shares]) if earlier and set(shares) <= set(earlier) else None
    print(row("all", total(list(shares.values())), before))
    refused = sorted(set(found) - set(shares))
    if refused:
        print(f"refused: {', '.join(refused)}")
    if options.save:
        options.save.write_text(json.dumps({name: asdict(share) for name, share in shares.items()}, indent=1))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())

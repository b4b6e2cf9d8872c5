"""The cost of programs on their machines: instructions of every step, bytes of every memory."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict

from attrs import field, frozen

from target_arch.api.shown import Shown
from target_arch.diagnostics import Keyword, advice, refusal
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.image import FirmwareEntry, ImageEntry
from target_arch.plan.printed.text import table
from target_arch.run import Profile, build, read_manifest
from target_arch.run.bundles.manifest import RecordedFacts, record_facts
from target_arch.run.executables.firmware import FirmwareImage, build_firmware, described
from target_arch.soc.schema.records import to_json


class CountedRun(TypedDict):
    """The instructions of a run on an emulated machine, and of each of its steps."""

    instructions: int
    steps: list[int]
    stack: Annotated[int, "bytes used"]


Programs = tuple[ImageEntry | FirmwareEntry, ...]


@frozen(kw_only=True, repr=False)
class Images(Shown[Programs]):
    """The programs that were linked, each with its sections and memories as in the manifest. `differences`
    are sizes that are not the predicted ones, in words.
    """

    differences: tuple[str, ...] = field(repr=False)


def images(directory: Path) -> Images:
    """Build the bundle for its machine, or the firmware of its cores, and record the sizes in its manifest.

    DiagnosticError where it runs on this computer alone, and as `run.build` and `build_firmware` do.
    """
    manifest = read_manifest(directory)
    if manifest.machine is not None:
        image = build(directory).image
        assert image is not None
        record_facts(directory, manifest, RecordedFacts(image=image))
        return _images(directory, (image,), to_json(image), _image_text(image))
    if not described(directory):
        text = f"port `{manifest.port}` runs on this computer, where there is no image to account for"
        hint = advice("compile with ", Keyword("port", "qemu_mps2"))
        raise refusal("no-machine", str(directory), text, hint)
    firmware = build_firmware(directory, directory / "build")
    entries = tuple(image.entry for image in firmware)
    record_facts(directory, manifest, RecordedFacts(firmware=entries))
    return _images(directory, entries, to_json(entries), "\n".join(map(_firmware_text, firmware)))


def _images(directory: Path, entries: Programs, json: object, text: str) -> Images:
    return Images(
        title=f"programs of {str(directory)!r}: {len(entries)}",
        value=entries,
        text=text,
        json=lambda: json,
        differences=tuple(difference for entry in entries for difference in entry.differences),
    )


def instructions(manifest: Manifest, profile: Profile) -> Shown[Profile]:
    """Instructions of every step, of the runtime between them, and of the whole run."""
    return Shown(
        title=f"{profile.instructions:,} instructions",
        value=profile,
        text=_profile_text(manifest, profile),
        json=partial(_counted, profile),
    )


def _counted(profile: Profile) -> CountedRun:
    return {
        "instructions": profile.instructions,
        "steps": list(profile.steps),
        "stack": profile.stack,
    }


def _profile_text(manifest: Manifest, profile: Profile) -> str:
    models = manifest.models
    steps = [
        (str(step.number), f"{model.name}: {step.what}" if len(models) > 1 else step.what)
        for model in models
        for step in model.steps
    ]
    rows = [(*step, f"{count:,}") for step, count in zip(steps, profile.steps, strict=True)]
    between = profile.instructions - sum(profile.steps)
    rows += [
        ("", "runtime, between the steps", f"{between:,}"),
        ("", "whole run" if len(models) == 1 else "all runs", f"{profile.instructions:,}"),
    ]
    machine = manifest.machine
    assert machine is not None
    return (
        f"instructions on {machine.name}, counted by its timer under QEMU's icount\n"
        + table(("step", "what", "instructions"), rows, right=(0, 2))
        + f"stack: {profile.stack:,} B used of {machine.stack:,} B\n"
    )


def _firmware_text(image: FirmwareImage) -> str:
    """Bytes of every section of a firmware, predicted and linked, and of its memory; and the differences."""
    about, fill = image.description, image.entry.memory
    place = about["memory"]
    rows = [(part.section, part.what, f"{part.predicted:,}", f"{part.linked or 0:,}") for part in image.parts]
    rows.append(("", f"memory {fill.memory}, gaps included", f"{fill.predicted:,}", f"{fill.linked or 0:,}"))
    return (
        f"firmware of {image.target_arch} ({image.core.name}), {image.path.name}: {len(about['functions'])} "
        f"functions; memory {fill.memory} of {fill.capacity:,} B, at {place['device']:#x} for the core, "
        f"{place['physical']:#x} for the host\n"
        + table(("section", "what", "predicted", "linked"), rows, right=(2, 3))
        + _stack_text(image.stack.bytes, image.reserved, image.stack.path, image.stack.unknown)
        + ("".join(f"difference: {each}\n" for each in image.entry.differences) or "linked as predicted\n")
    )


def _stack_text(needed: int, reserved: int, path: Sequence[str], unknown: Sequence[str]) -> str:
    apart = f"; not counted: {', '.join(unknown)}" if unknown else ""
    return f"stack: at most {needed:,} B of {reserved:,} B{apart}\n  {' -> '.join(path)}\n"


def _image_text(image: ImageEntry) -> str:
    """Bytes of every section and memory, predicted and linked; the deepest stack; and the differences."""
    sections = [
        (part.memory, part.section, part.what, f"{part.predicted:,}", f"{part.linked or 0:,}")
        for part in image.sections
    ]
    memories = [
        (
            fill.memory,
            f"{fill.capacity:,}",
            f"{fill.predicted:,}",
            f"{fill.linked or 0:,}",
            f"{fill.capacity - (fill.linked or 0):,}",
        )
        for fill in image.memories
    ]
    stack = image.stack
    parts = [
        "image in bytes\n"
        + table(("memory", "section", "what", "predicted", "linked"), sections, right=(3, 4)),
        "memories in bytes, gaps included\n"
        + table(("memory", "capacity", "predicted", "linked", "remaining"), memories, right=range(1, 5)),
        _stack_text(stack.predicted, stack.reserved, stack.path, stack.unknown),
        f"from libraries: {', '.join(image.libraries) or 'nothing'}\n",
        "".join(f"difference: {each}\n" for each in image.differences) or "linked as predicted\n",
    ]
    return "\n".join(parts)

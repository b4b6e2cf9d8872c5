"""The cost of a program on its machine, as text: instructions of every step, bytes of every memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from target_arch.plan.text import table

if TYPE_CHECKING:
    from target_arch.run import Profile
    from target_arch.run.executables.firmware import FirmwareImage


def profile_json(profile: "Profile") -> dict[str, object]:
    """A profile as JSON values."""
    return {"instructions": profile.instructions, "steps": list(profile.steps), "stack": profile.stack}


def profile_text(manifest: Mapping[str, Any], profile: "Profile") -> str:
    """Instructions of every step, of the runtime between them, and of the whole run."""
    each = manifest.get("models", (manifest,))
    steps = [
        (str(step["number"]), f"{model['model']}: {step['what']}" if len(each) > 1 else step["what"])
        for model in each
        for step in model["steps"]
    ]
    rows = [(*step, f"{count:,}") for step, count in zip(steps, profile.steps, strict=True)]
    between = profile.instructions - sum(profile.steps)
    rows += [
        ("", "runtime, between the steps", f"{between:,}"),
        ("", "whole run" if len(each) == 1 else "all runs", f"{profile.instructions:,}"),
    ]
    machine = manifest["machine"]
    return (
        f"instructions on {machine['name']}, counted by its timer under QEMU's icount\n"
        + table(("step", "what", "instructions"), rows, right=(0, 2))
        + f"stack: {profile.stack:,} B used of {machine['stack']:,} B\n"
    )


def firmware_text(image: "FirmwareImage") -> str:
    """Bytes of every section of a firmware, predicted and linked, and of its memory; and the differences."""
    about, fill = image.description, image.fill
    place = about["memory"]
    rows = [(part.section, part.what, f"{part.predicted:,}", f"{part.linked or 0:,}") for part in image.parts]
    rows.append(("", f"memory {fill.memory}, gaps included", f"{fill.predicted:,}", f"{fill.linked or 0:,}"))
    return (
        f"firmware of {image.target_arch} ({image.core.name}), {image.path.name}: {len(about['functions'])} "
        f"functions; memory {fill.memory} of {fill.capacity:,} B, at {place['device']:#x} for the core, "
        f"{place['physical']:#x} for the host\n"
        + table(("section", "what", "predicted", "linked"), rows, right=(2, 3))
        + _stack_text(image.stack.bytes, image.reserved, image.stack.path, image.stack.unknown)
        + ("".join(f"difference: {each}\n" for each in image.differences) or "linked as predicted\n")
    )


def _stack_text(needed: int, reserved: int, path: Sequence[str], unknown: Sequence[str]) -> str:
    apart = f"; not counted: {', '.join(unknown)}" if unknown else ""
    return f"stack: at most {needed:,} B of {reserved:,} B{apart}\n  {' -> '.join(path)}\n"


def image_text(image: Mapping[str, Any]) -> str:
    """Bytes of every section and memory, predicted and linked; the deepest stack; and the differences."""
    sections = [
        (each["memory"], each["section"], each["what"], f"{each['predicted']:,}", f"{each['linked']:,}")
        for each in image["sections"]
    ]
    memories = [
        (
            each["memory"],
            f"{each['capacity']:,}",
            f"{each['predicted']:,}",
            f"{each['linked']:,}",
            f"{each['capacity'] - each['linked']:,}",
        )
        for each in image["memories"]
    ]
    stack = image["stack"]
    parts = [
        "image in bytes\n"
        + table(("memory", "section", "what", "predicted", "linked"), sections, right=(3, 4)),
        "memories in bytes, gaps included\n"
        + table(("memory", "capacity", "predicted", "linked", "remaining"), memories, right=range(1, 5)),
        _stack_text(stack["predicted"], stack["reserved"], stack["path"], stack["unknown"]),
        f"from libraries: {', '.join(image['libraries']) or 'nothing'}\n",
        "".join(f"difference: {each}\n" for each in image["differences"]) or "linked as predicted\n",
    ]
    return "\n".join(parts)

"""What a program takes on its machine, for people: instructions of every step, bytes of every memory."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from target_arch.plan.text import table

if TYPE_CHECKING:
    from target_arch.run import Profile


def profile_json(profile: "Profile") -> dict[str, object]:
    """A profile as JSON values."""
    return {"instructions": profile.instructions, "steps": list(profile.steps), "stack": profile.stack}


def profile_text(manifest: Mapping[str, Any], profile: "Profile") -> str:
    """Instructions of every step, of the runtime between them, and of the whole run."""
    rows = [
        (str(step["number"]), step["what"], f"{count:,}")
        for step, count in zip(manifest["steps"], profile.steps, strict=True)
    ]
    between = profile.instructions - sum(profile.steps)
    rows += [
        ("", "runtime, between the steps", f"{between:,}"),
        ("", "whole run", f"{profile.instructions:,}"),
    ]
    machine = manifest["machine"]
    return (
        f"instructions on {machine['name']}, counted by its timer under QEMU's icount\n"
        + table(("step", "what", "instructions"), rows, right=(0, 2))
        + f"stack: {profile.stack:,} B used of {machine['stack']:,} B\n"
    )


def image_text(image: Mapping[str, Any]) -> str:
    """Bytes of every section and memory, predicted and linked; the deepest stack; what differs."""
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
    unknown = f"; not counted: {', '.join(stack['unknown'])}" if stack["unknown"] else ""
    parts = [
        "image in bytes\n"
        + table(("memory", "section", "what", "predicted", "linked"), sections, right=(3, 4)),
        "memories in bytes, gaps included\n"
        + table(("memory", "capacity", "predicted", "linked", "remaining"), memories, right=range(1, 5)),
        f"stack: at most {stack['predicted']:,} B of {stack['reserved']:,} B{unknown}\n"
        f"  {' -> '.join(stack['path'])}\n",
        f"from libraries: {', '.join(image['libraries']) or 'nothing'}\n",
        "".join(f"difference: {each}\n" for each in image["differences"]) or "linked as predicted\n",
    ]
    return "\n".join(parts)

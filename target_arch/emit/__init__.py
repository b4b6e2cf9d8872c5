"""Plans to C text: the files of a bundle as a value. Nothing here touches the user's disk."""

from target_arch.emit.bundle import emit_bundle
from target_arch.emit.digests import MANIFEST, manifest_text
from target_arch.emit.manifest import manifest
from target_arch.emit.model.inputs import EmitInputs, Member, SelfTest, Tolerance
from target_arch.emit.model.naming import describe

__all__ = [
    "MANIFEST",
    "EmitInputs",
    "Member",
    "SelfTest",
    "Tolerance",
    "describe",
    "emit_bundle",
    "manifest",
    "manifest_text",
]

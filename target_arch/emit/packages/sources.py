"""The facts that every package lists: sources of the library, and where headers are found."""

from collections.abc import Sequence

from attrs import frozen

from target_arch.emit.build.build_files import library_sources, weights_folders
from target_arch.emit.build.libraries import folder_of, libraries
from target_arch.emit.model.inputs import EmitInputs


@frozen(kw_only=True)
class PackageSources:
    """A bundle as packages see it: `name` in C, its models in words, C files, and folders with headers.

    `public` is the folder of the headers that a program includes, `private` those of the sources alone.
    `missing` are variables that name C libraries which the bundle does not carry.
    """

    name: str
    about: str
    sources: tuple[str, ...]
    public: str
    private: tuple[str, ...]
    missing: tuple[str, ...]


def contents_of(inputs: EmitInputs, paths: Sequence[str]) -> PackageSources:
    """The contents of a bundle with these files."""
    used = libraries(inputs.kernels)
    carried = [f"{folder_of(each)}/{path}" for each in used if each.carried for path in each.include]
    models = ", ".join(member.model.name for member in inputs.members)
    return PackageSources(
        name=inputs.stem,
        about=f"{models} on {inputs.soc.name}, port {inputs.port.name}, by target-arch",
        sources=library_sources(paths),
        public="include",
        private=("runtime", *weights_folders(inputs), *carried),
        missing=tuple(each.variable for each in used if not each.carried and each.variable),
    )

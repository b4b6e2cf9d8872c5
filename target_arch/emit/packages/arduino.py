"""A bundle as an Arduino library: all C below `src`, the only folder that is searched for headers there.

Format: "Library specification" of Arduino's command line, revision 1.5. All that a bundle has in `include`,
`runtime`, `src` and `weights` goes to `src`, and so do the headers of a C library that it carries.
"""

from collections.abc import Mapping

from target_arch.emit.packages.carried import CarriedBundle, place

_SKETCH = """\
#include <{name}.h>

{memory}void setup()
{{
    {name}_init(&ta_port_{port});
}}

void loop()
{{
    /* write the inputs; {name}.h names them */
    {stem}_run({io});
    /* read the outputs */
}}
"""

_PAPERS = ("README.md", "LICENSE", "NOTICE")


def arduino_library(files: Mapping[str, bytes], carried: CarriedBundle) -> dict[str, bytes]:
    """Path in the library → content, for the files of a bundle. DiagnosticError where two headers have one
    path.
    """
    placed: dict[str, bytes] = {}
    for path, content in files.items():
        if path in _PAPERS:
            placed[path] = content
        elif path in carried.sources or path.endswith(".h"):
            place(placed, path, content, carried, "src")
        elif path.startswith("weights/"):
            placed[f"src/{path.removeprefix('weights/')}"] = content
        elif path.endswith((".toml", ".ld")) or path == "manifest.json":
            placed[f"extras/{path}"] = content
    sketch = _SKETCH.format(
        name=carried.name,
        port=carried.port,
        stem=carried.stem,
        memory="\n".join((*carried.lent, "", "")) if carried.lent else "",
        io=f"&{carried.stem}_lent" if carried.lent else "",
    )
    placed["library.properties"] = _properties(carried).encode()
    placed[f"examples/{carried.name}/{carried.name}.ino"] = sketch.encode()
    return dict(sorted(placed.items()))


def _properties(carried: CarriedBundle) -> str:
    facts = {
        "name": carried.name,
        "version": carried.version,
        "author": "target-arch",
        "maintainer": "target-arch",
        "sentence": carried.about,
        "paragraph": "Static memory, no heap; see README.md.",
        "category": "Data Processing",
        "url": "",
        "architectures": "*",
        "includes": f"{carried.name}.h",
    }
    return "".join(f"{key}={value}\n" for key, value in facts.items())

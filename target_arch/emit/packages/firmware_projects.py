"""A bundle as a Zephyr module, a PlatformIO library and a CMSIS-Pack; each lists the same sources.

Formats: "Modules" in Zephyr's documentation and its Kconfig language, `library.json` in PlatformIO's, and the
pack description format of Open-CMSIS-Pack.
"""

import json
from html import escape

from target_arch.emit.packages.sources import PackageSources
from target_arch.emit.text.emitter import Emitter

VERSION = "1.0.0"
"""Of every package: a bundle has no version of its own, and package managers ask for one."""
_VENDOR = "target_arch"
_PACK_SCHEMA = "1.7.7"


def firmware_projects(contents: PackageSources) -> dict[str, str]:
    """Path and text of every file."""
    return {
        "zephyr/module.yml": _module(contents),
        "zephyr/Kconfig": _kconfig(contents),
        "zephyr/CMakeLists.txt": _zephyr_cmake(contents),
        "library.json": _platformio(contents),
        f"{_VENDOR}.{contents.name}.pdsc": _pack(contents),
    }


def _option(contents: PackageSources) -> str:
    return f"TARGET_ARCH_{contents.name.upper()}"


def _module(contents: PackageSources) -> str:
    return f"name: {contents.name}\nbuild:\n  cmake: zephyr\n  kconfig: zephyr/Kconfig\n"


def _kconfig(contents: PackageSources) -> str:
    about = contents.about.replace("\\", "").replace('"', "")
    return f"""\
config {_option(contents)}
\tbool "{contents.name}"
\thelp
\t  {about}
"""


def _zephyr_cmake(contents: PackageSources) -> str:
    out = Emitter()
    out.line(f"if(CONFIG_{_option(contents)})")
    with out.indent():
        out.line(f"zephyr_library_named({contents.name})")
        out.line("zephyr_library_sources(")
        with out.indent():
            out.lines(f"../{path}" for path in contents.sources)
        out.line(")")
        out.line(f"zephyr_include_directories(../{contents.public})")
        own = [f"../{path}" for path in contents.private] + [f"${{{name}}}" for name in contents.missing]
        out.line(f"zephyr_library_include_directories({' '.join(own)})")
    out.line("endif()")
    return out.text()


def _platformio(contents: PackageSources) -> str:
    facts = {
        "name": contents.name,
        "version": VERSION,
        "description": contents.about,
        "license": "Apache-2.0",
        "frameworks": "*",
        "platforms": "*",
        "headers": f"{contents.name}.h",
        "build": {
            "includeDir": contents.public,
            "srcDir": ".",
            "srcFilter": ["-<*>", *(f"+<{path}>" for path in contents.sources)],
            "flags": [f"-I {path}" for path in contents.private],
        },
    }
    return json.dumps(facts, indent=2) + "\n"


def _pack(contents: PackageSources) -> str:
    files = [("include", f"{path}/") for path in (contents.public, *contents.private)]
    files += [("sourceC", path) for path in contents.sources]
    listed = "".join(f'        <file category="{kind}" name="{escape(path)}"/>\n' for kind, path in files)
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="{_PACK_SCHEMA}" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" \
xs:noNamespaceSchemaLocation="PACK.xsd">
  <vendor>{_VENDOR}</vendor>
  <name>{contents.name}</name>
  <description>{escape(contents.about, quote=False)}</description>
  <url></url>
  <license>LICENSE</license>
  <releases>
    <release version="{VERSION}">As compiled.</release>
  </releases>
  <components>
    <component Cvendor="{_VENDOR}" Cclass="Machine Learning" Cgroup="Models" Csub="{escape(contents.name)}" \
Cversion="{VERSION}">
      <description>{escape(contents.about, quote=False)}</description>
      <files>
{listed}      </files>
    </component>
  </components>
</package>
"""

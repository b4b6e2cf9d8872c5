"""The files for other build systems, read by their own programs: PlatformIO's schema of `library.json`, and
the Kconfig language as Kconfiglib reads it for Zephyr.

Both are pure Python: `pip install platformio kconfiglib`.
"""

import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.resources import examples
from target_arch.run import write_bundle
from target_arch.soc import read_soc

IDENTIFIER = re.compile(r"[-_A-Za-z0-9]+")
VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readers") / "digits"
    model = examples() / "digits" / "digits_int8.onnx"
    write_bundle(compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7"))).bundle, folder)
    return folder


@pytest.mark.long
def test_platformio_takes_the_manifest(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the list of licences, which it fetches."""
    schema = pytest.importorskip("platformio.package.manifest.schema", reason="needs `platformio`")
    parser = pytest.importorskip("platformio.package.manifest.parser", reason="needs `platformio`")
    known = {"licenses": [{"licenseId": "Apache-2.0"}]}
    monkeypatch.setattr(schema.ManifestSchema, "load_spdx_licenses", staticmethod(lambda: known))
    read = parser.ManifestParserFactory.new_from_file(str(bundle / "library.json")).as_dict()
    found = schema.ManifestSchema().load_manifest(read)
    assert (found["name"], found["license"]) == ("digits_int8", "Apache-2.0")


@pytest.mark.long
def test_kconfig_has_one_option(bundle: Path) -> None:
    kconfiglib = pytest.importorskip("kconfiglib", reason="needs `kconfiglib`")
    found = kconfiglib.Kconfig(str(bundle / "zephyr" / "Kconfig"))
    (option,) = found.unique_defined_syms
    assert (option.name, option.type, found.warnings) == ("TARGET_ARCH_DIGITS_INT8", kconfiglib.BOOL, [])
    assert option.nodes[0].prompt[0] == "digits_int8"


def test_the_zephyr_module_has_what_its_schema_allows(bundle: Path) -> None:
    """Keys and types as in the schema of Zephyr, whose build looks for the named files."""
    yaml = pytest.importorskip("yaml", reason="needs `pyyaml`, which mkdocs brings")
    module = yaml.safe_load((bundle / "zephyr" / "module.yml").read_text())
    assert module.keys() == {"name", "build"}
    assert module["build"].keys() == {"cmake", "kconfig"}
    assert (bundle / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (bundle / module["build"]["kconfig"]).is_file()


def test_the_pack_has_what_its_schema_wants(bundle: Path) -> None:
    """Elements and patterns of Open-CMSIS-Pack's `PACK.xsd` 1.7.32."""
    pack = xml.fromstring((bundle / "target_arch.digits_int8.pdsc").read_bytes())
    texts = {each.tag: each.text for each in pack}
    assert {"name", "vendor", "description", "url", "releases"} <= texts.keys()
    assert all(IDENTIFIER.fullmatch(texts[tag] or "") for tag in ("name", "vendor"))
    assert 0 < len(texts["description"] or "") <= 256
    assert all(VERSION.fullmatch(each.attrib["version"]) for each in pack.iter("release"))
    (component,) = pack.iter("component")
    assert {"Cclass", "Cgroup", "Cversion"} <= component.attrib.keys()
    assert [each.tag for each in component] == ["description", "files"]
    assert {each.attrib["category"] for each in pack.iter("file")} == {"include", "sourceC"}

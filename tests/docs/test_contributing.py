"""CONTRIBUTING.md says where tests are: of every package, and what every other folder is for."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def folders(place: Path) -> set[str]:
    return {path.name for path in place.iterdir() if path.is_dir() and any(path.rglob("*.py"))}


def test_every_folder_of_tests_has_its_place() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("\n## Tests\n")[2].partition("\n## ")[0]
    tests, packages = folders(ROOT / "tests"), folders(ROOT / "target_arch")
    for name in sorted(tests - packages):
        assert f"`tests/{name}`" in section
    for name in sorted(packages - tests):
        assert f"`{name}`" in section

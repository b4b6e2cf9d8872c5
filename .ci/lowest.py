"""Print the lowest version of every range in pyproject.toml as constraints for pip, `name==version`."""

import re
import tomllib
from pathlib import Path

LOWEST = re.compile(r"([A-Za-z0-9_.-]+)>=([^,]+)")

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"].values()
wanted = {text for group in (project["dependencies"], *extras) for text in group}
for name, version in sorted(found.groups() for found in map(LOWEST.match, wanted) if found):
    print(f"{name}=={version}")

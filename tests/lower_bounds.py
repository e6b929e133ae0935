"""Print the lower bound of every dependency as a constraint for pip: ``python tests/lower_bounds.py``.

`make oldest` installs these versions, so that the bounds in pyproject.toml are known to be true.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_BOUND = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)$")


def lower_bounds(groups=("test",)):
    """The lowest version of every package that the package, its extras and some groups ask for."""
    content = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    project = content["project"]
    asked = list(project["dependencies"])
    asked += [line for extra in project["optional-dependencies"].values() for line in extra]
    asked += [line for group in groups for line in content["dependency-groups"][group]]
    bounds = {}
    for line in asked:
        if line.startswith(f"{project['name']}["):
            continue  # an extra made of other extras
        found = _BOUND.match(line)
        if found is None:
            raise ValueError(f"pyproject.toml: {line!r} has no lower bound; write one as name>=version")
        name, version = found.groups()
        if bounds.setdefault(name, version) != version:
            raise ValueError(f"pyproject.toml: {name} has the lower bounds {bounds[name]} and {version}; choose one")
    return bounds


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in lower_bounds().items()))

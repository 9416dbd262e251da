"""The oldest versions that pyproject.toml allows, as requirements for pip: `python oldest.py EXTRA ...`."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def oldest(*extras: str) -> list[str]:
    """Each lower bound of the dependencies and of these extras, and of the extras that they name, as the version."""
    requirements = [*PROJECT["dependencies"]]
    for extra in extras:
        requirements += PROJECT["optional-dependencies"][extra]
    pinned = []
    for requirement in requirements:  # which grows by the extras of extras
        if ours := re.fullmatch(r"rankwise\[(.+)\]", requirement):
            requirements += [one for extra in ours[1].split(",") for one in PROJECT["optional-dependencies"][extra]]
        else:
            pinned.append(requirement.replace(">=", "==", 1))
    return pinned


if __name__ == "__main__":
    print("\n".join(oldest(*sys.argv[1:])))

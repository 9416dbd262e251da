"""Where a model comes from, in words: the versions, the data, the command and its files."""

import shlex

from rankwise.foundation.strict_json import Json
from rankwise.foundation.texts import counted
from rankwise.rankers.models import Model

SHOWN = 40  # characters of a version


def origin(model: Model) -> list[str]:
    """Where a model comes from, in lines: versions, data, command, files."""
    data, run = model.data, model.run
    programs = ", ".join(f"{name} {version[:SHOWN]}" for name, version in model.versions.items())
    lines = [f"written by {programs}"] if programs else []  # a model that was not read from a file has none
    if data is not None:
        labels = data["labels"]
        size = f"{counted(data['rows'], 'documents')} in {counted(data['queries'], 'queries')}"
        levels = f"{counted(labels['levels'], 'labels')} from {labels['minimum']:g} to {labels['maximum']:g}"
        lines.append(f"trained on {size}, {levels}{'' if data['hash'] is None else ', ' + data['hash']}")
    if run is not None:
        lines.append(f"trained by {shlex.join(['rankwise', run['command'], *words(run['options'])])}")
        lines += [f"  {digest or 'not hashed'}  {path}" for path, digest in run["files"].items()]
    return lines


def each(value: Json) -> list[str]:
    """The values of an option, as texts."""
    return [str(one) for one in (value if isinstance(value, list) else [value])]


def words(options: dict[str, Json]) -> list[str]:
    """Options as they are typed."""
    typed, data = [], []
    for name, value in options.items():
        if name == "data":
            data = each(value)
        elif isinstance(value, bool):
            typed.append(f"--{name}" if value else f"--no-{name}")
        else:
            typed += [f"--{name}={one}" for one in each(value)]
    looks_like_option = any(one.startswith("-") and one != "-" for one in data)
    return [*typed, "--", *data] if looks_like_option else [*data, *typed]

"""Options of a command from a TOML file (`--config`) or from the model of an earlier run (`--like`).

They become defaults of the command: what is typed on the command line has precedence, and both are checked alike.
"""

import os
import tomllib
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from rankwise.cli.speech import one_sentence
from rankwise.foundation.names import key, nearest

READ = ("data", "valid", "names", "clicks", "queries", "propensities")  # options that name files to read
WRITTEN = ("output", "journal", "report")  # and files to write
UNRECORDED = (*WRITTEN, "dask", "force", "json")  # options that say where to work, not what to do
OF_THE_RUN = ("config", "like", "allow-changes", "help")
TABLES = ("train", "tune")  # of a TOML file, each for the command of its name


def option_name(param: Any) -> str:
    """The name of an option or argument of a command, as typed, without hyphens in front."""
    return _names(param)[0]


def _names(param: Any) -> list[str]:
    """All its names but those of one letter."""
    return [one.lstrip("-") for one in param.opts if one[:2] == "--" or one[:1] != "-"]


def read_settings(path: str, command: str) -> dict[str, Any]:
    """The settings for a command in a TOML file: those outside of tables, and those in the table of its name."""
    try:
        with open(path, "rb") as file:
            settings: dict[str, Any] = tomllib.load(file)
    except RecursionError:
        raise ValueError(f"{path} is not a TOML file: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    tables = {name: settings.pop(name) for name in TABLES if isinstance(settings.get(name), dict)}
    own: dict[str, Any] = tables.get(command, {})
    if twice := {key(name) for name in settings} & {key(name) for name in own}:
        raise ValueError(f"{path}: {min(twice)} is set twice: outside of the tables, and in [{command}]")
    return settings | own


def preset(ctx: typer.Context, settings: Mapping[str, Any], where: str, folder: str = "") -> None:
    """Make settings the defaults of a command; paths are relative to `folder`."""
    options = [one for one in ctx.command.params if option_name(one) not in OF_THE_RUN]
    params = {key(name): one for one in options for name in _names(one)}
    defaults: dict[str, Any] = {}
    for name, value in settings.items():
        param = params.get(key(name))
        if param is None or param.name is None:
            near = nearest(name, params)
            hint = f": did you mean {option_name(params[near])!r}?" if near is not None else ""
            raise ValueError(f"{where}: `rankwise {ctx.info_name}` has no option {name!r}{hint}")
        if param.name in defaults:
            raise ValueError(f"{where}: {option_name(param)} is set twice")
        defaults[param.name] = _as_typed(param, value, where, folder)
    ctx.default_map = defaults


def _as_typed(param: Any, value: object, where: str, folder: str) -> bool | str | list[str]:
    """A setting as the command line would give it: a text, a list of texts, or a truth value."""
    name, is_list = option_name(param), getattr(param, "multiple", False) or param.nargs == -1
    values = value if is_list and isinstance(value, list) else [value]
    if getattr(param, "is_flag", False):
        is_right, expected = isinstance(value, bool), "true or false"
    else:
        is_right = all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in values)
        expected = "a text, a number, or a list of these" if is_list else "a text or a number"
    if not is_right:
        raise ValueError(f"{where}: {name} must be {expected}; got {str(value)[:40]}")
    if isinstance(value, bool):
        return value
    texts = [str(one) for one in values]
    if any("\0" in one for one in texts):
        raise ValueError(f"{where}: {name} contains a NUL character")
    if name in READ + WRITTEN:
        texts = [one if one in ("-", "") else os.path.join(folder, one) for one in texts]
    return texts if is_list else texts[0]


def _presetting(read: Callable[[typer.Context, str], None]) -> Callable[[typer.Context, str | None], str | None]:
    """The callback of an option whose value names a file of settings."""

    def callback(ctx: typer.Context, value: str | None) -> str | None:
        if value is None or ctx.resilient_parsing:
            return value
        if ctx.default_map is not None:
            raise typer.BadParameter("give --config or --like, not both")
        with one_sentence():
            read(ctx, value)
        return value

    return callback


def _from_config(ctx: typer.Context, path: str) -> None:
    preset(ctx, read_settings(path, str(ctx.info_name)), path, os.path.dirname(path))


def _from_model(ctx: typer.Context, path: str) -> None:
    from rankwise.model_io.files import read_model

    ctx.obj = model = read_model(path)
    if model.run is None:
        raise ValueError(f"{path} does not say how it was trained, so that the run cannot be repeated")
    if model.run["command"] != ctx.info_name:
        raise ValueError(f"{path} is a model of `rankwise {model.run['command']}`: repeat it by that command")
    if odd := [name for name in model.run["options"] if key(name) in UNRECORDED + OF_THE_RUN]:
        raise ValueError(f"{path} is damaged: the record of a run has no option {odd[0]!r}")
    preset(ctx, model.run["options"], path)


Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        is_eager=True,
        callback=_presetting(_from_config),
        help="TOML file of options, such as `C = 0.1`; options that are typed have precedence.",
    ),
]
Like = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        is_eager=True,
        callback=_presetting(_from_model),
        help="Repeat the run that trained this model, with the same files and options.",
    ),
]
AllowChanges = Annotated[
    bool, typer.Option("--allow-changes", help="With --like: go on even if the files have changed since.")
]

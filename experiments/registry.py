"""Which experiments there are: the modules named PAPER_figure_… and PAPER_table_…, paper by paper, in number order."""

import pkgutil
import re
from importlib import import_module
from types import ModuleType

import experiments

PAPERS = {
    "lee_lin": "Lee and Lin (2014)",
    "chapelle_keerthi": "Chapelle and Keerthi (2010)",
    "airola": "Airola et al. (2011)",
    "pahikkala": "Pahikkala et al. (2007)",
    "zhang": "Zhang et al. (2015)",
    "clicks": "Joachims et al. (2017), Wang et al. (2018), Agarwal et al. (2019)",
    "good_enough": "Is a linear ranker good enough?",  # no paper: a question of our own
}
NAME = re.compile(rf"({'|'.join(PAPERS)})_(figure|table)_(\d+)\w*")


def names() -> list[str]:
    found = filter(None, (NAME.fullmatch(module.name) for module in pkgutil.iter_modules(experiments.__path__)))
    return [match.group() for match in sorted(found, key=_place)]


def load(name: str) -> ModuleType:
    return import_module(f"experiments.{name}")


def paper_of(name: str) -> str:
    match = NAME.fullmatch(name)
    assert match is not None, name
    return PAPERS[match[1]]


def _place(match: re.Match[str]) -> tuple[int, str, int]:
    paper, kind, number = match.groups()
    return list(PAPERS).index(paper), kind, int(number)

"""Which column of a table is what, by its header and the names that the caller gives."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rankwise.data.columns import Known, Reading, names_of
from rankwise.data.records import COMMENT, DOCUMENT, WEIGHT
from rankwise.foundation.names import Patterns, by_number, key, nearest, numbered
from rankwise.foundation.texts import counted, first_few, shell_word

FLAGS = {"docid": "--doc"}  # where an option of `read_data` has another name on the command line
_WHAT = {
    "label": "labels",
    "qid": "query ids",
    "docid": "document ids",
    "weight": "weights",
    "features": "a feature",
    "ignore": "what to leave out",
}
_COLUMNS_SHOWN = 20  # names of a table's columns in a message
_LONGEST = 60  # characters of a column's name in a message


@dataclass(frozen=True)
class Columns:
    """The places of the columns of a table; `names` is None if they only number the features from first_index on."""

    label: int | None
    qid: int | None
    docid: int | None
    weight: int | None
    comment: int | None
    features: tuple[int, ...]
    names: tuple[str, ...] | None
    first_index: int


class TextColumnsError(ValueError):
    """Columns, `names`, are taken as features and hold no numbers; `fault` says where that was found.

    has_ids  another column is known to hold the document ids
    instead  how to write the cell that was found, if it stands for a number or a missing one
    """

    def __init__(self, fault: str, names: Sequence[str], has_ids: bool, instead: str | None = None) -> None:
        self.fault, self.names = fault, tuple(names)
        ignored = shell_word(",".join(map(_as_cell, names)))
        left_out = f"by --ignore {ignored} (ignore={[*names]!r} in Python)"
        if instead is not None:
            cure, ids = f"{instead}, or leave out the column {left_out}", ""
        elif len(names) == 1:
            document = f"--doc {shell_word(names[0])} (docid={names[0]!r})"
            cure, ids = f"leave it out {left_out}", f", or, if it holds document ids, name it by {document}"
        elif len(names) > _COLUMNS_SHOWN:
            chosen = "choose the others by --features NAMES (features=[...] in Python)"
            cure, ids = f"{len(names)} columns are like it: {chosen}", ""
        else:
            cure = f"leave out all {len(names)} such columns {left_out}"
            ids = ", or name one that holds document ids by --doc NAME (docid=NAME)"
        super().__init__(f"{fault}: {cure}{'' if has_ids else ids}")


def _as_cell(name: str) -> str:
    """A name as --ignore takes it among others: like a cell of CSV."""
    return name if name.isprintable() and not {",", '"'} & {*name} else '"{}"'.format(name.replace('"', '""'))


def check_once(header: Sequence[str], where: str) -> None:
    """Raise an error if two columns have the same name."""
    if len(set(header)) < len(header):
        twice = next(name for name, times in Counter(header).items() if times > 1)
        raise ValueError(f"{where} has two columns called {twice!r}: every column needs a name of its own")


def find_columns(header: Sequence[str], reading: Reading, where: str) -> Columns:
    """Which column of a table is what."""
    check_once(header, where)
    places = {name: i for i, name in enumerate(header)}
    for name in _ignored(places, reading, where):
        places.pop(name)
    wanted = _known_to_model(places, reading.known) if reading.features is None else reading.features
    free = {name: i for name, i in places.items() if name not in (wanted or ())}  # a feature called docid is no id
    for option in ("label", "qid", "docid", "weight")[not reading.needs_labels :]:
        needed = option != "weight" or reading.known is None  # a model scores without weights
        if needed and (name := getattr(reading, option)) is not None:
            if name in places and name not in free:
                raise ValueError(f"{where}: {name!r} is among the features: it cannot be {option} too")
            _check_is_there(free, name, option, where, features=len(places) - len(free))
    label, qid, docid, weight = (
        None if name is None else free.get(name)
        for name in (reading.label, reading.qid, reading.docid or DOCUMENT, reading.weight or WEIGHT)
    )
    comment = free.get(COMMENT)
    roles = {"label": label, "qid": qid, "docid": docid, "weight": weight}
    _check_distinct({role: i for role, i in roles.items() if i is not None}, header, where)
    others = [name for name, i in free.items() if i not in (label, qid, docid, weight, comment)]
    if wanted is None:
        names = _other_features(others, header, where)
    else:
        names = _expanded(wanted, places, {*others, *wanted}, where)
        if reading.features is None and reading.on_unknown is not None and others:
            reading.on_unknown(others)
    kept, first_index = numbered(names)
    comment = comment if reading.comments else None
    features = tuple(places[name] for name in names)
    return Columns(label, qid, docid, weight, comment, features, kept, first_index)


def _check_distinct(roles: dict[str, int], header: Sequence[str], where: str) -> None:
    for role, i in roles.items():
        other = next(one for one, place in roles.items() if place == i)
        if other != role:
            raise ValueError(f"{where}: {header[i]!r} is named as {other} and as {role}: give two columns")


def _ignored(places: dict[str, int], reading: Reading, where: str) -> list[str]:
    """The columns to leave out. For a model it does not matter if there are none: it takes its own."""
    if reading.known is None:
        return _expanded(reading.ignore, places, places, where, "ignore")
    ignored = Patterns(reading.ignore)
    return [name for name in places if name in ignored]


def _known_to_model(places: dict[str, int], known: Known | None) -> list[str] | None:
    """The features of a model in its order, if the table has a column for each."""
    if known is None or known.n_features > len(places):  # there may be billions: do not list their names
        return None
    names = names_of(known)
    return names if set(names) <= places.keys() else None


def _other_features(others: list[str], header: Sequence[str], where: str) -> list[str]:
    """All columns that are nothing else; f1, f2, ... by their numbers."""
    if nameless := [name for name in others if not name.strip()]:
        at = list(header).index(nameless[0])
        if at == len(header) - 1:
            raise ValueError(
                f"{where}: column {at + 1}, the last one, has no name: name it, or end no line by a separator"
            )
        raise ValueError(
            f"{where}: column {at + 1} has no name, as an index has that pandas writes: write the table with "
            "to_csv(index=False), or name the column"
        )
    order = by_number(others)
    return others if order is None else [others[i] for i in order]


def _expanded(
    wanted: Iterable[str], places: dict[str, int], among: Collection[str], where: str, option: str = "features"
) -> list[str]:
    """Names as they are, and patterns such as `bm25_*` as those `among` all that match them, each name once."""
    names: dict[str, None] = {}
    for one in wanted:
        matching = [one] if one in places else [name for name in places if name in among and fnmatchcase(name, one)]
        if not matching:
            _check_is_there(places, one, option, where)
        names |= dict.fromkeys(matching)
    return list(names)


def _is_one_side(places: Collection[str]) -> bool:
    """Whether a table without labels looks like judgements (query, docid, rating) or a search engine's responses."""
    names = {key(one) for one in places}
    return names <= {"query", "docid", "rating"} or bool(names & {"response", "responses", "hits", "responseheader"})


def _check_is_there(places: dict[str, int], name: str, option: str, where: str, features: int = 0) -> None:
    """`places` are the columns it may be, without these features."""
    if name in places:
        return
    shown = first_few(list(places), _COLUMNS_SHOWN, lambda one: repr(one[:_LONGEST]))
    columns = f"its columns beside {counted(features, 'features')}" if features else "its columns"
    meant = nearest(name, places)
    hint = f"did you mean {meant!r}? Name it" if meant is not None else "name the column"
    if option == "label" and _is_one_side(places):
        hint = f"if these are judgements or logged features, join both by `rankwise join`; else {hint}"
    cure = f"{hint} by {FLAGS.get(option, f'--{option}')} NAME, or {option}=NAME in Python"
    raise ValueError(f"{where} has no column {name!r} for {_WHAT[option]} ({columns}: {shown}): {cure}")

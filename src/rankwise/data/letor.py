"""Ranking text, one document per line: `label qid:ID index:value … # comment`. Reading is here, writing next door."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.data.letor_error import LetorError
from rankwise.data.letor_writer import write_letor
from rankwise.data.records import RankingData

__all__ = ["LetorError", "read_letor", "write_letor"]


def read_letor(
    source: Any,
    *,
    n_features: int | None = None,
    dense: bool | None = None,
    dtype: Any = np.float64,
    missing: float | None = None,
    zero_based: bool | None = None,
    comments: bool = False,
    n_jobs: int | None = None,
) -> RankingData:
    """Read ranking text.

    source      a path (.gz, .bz2, .xz and .zst are decompressed), "-" for standard input, an open file, or a list
                of these, read as one text
    n_features  columns of X: a larger index is an error, so that a file to predict on fits its model; None: as many
                as occur
    dense       True for an array, False for SciPy's CSR; None: an array where at least half of its entries are
                written out. CSR stores what is written, zeros too
    dtype       of X: float64, exactly as Python's float reads the text, or float32, that rounded once
    missing     the value to put for NULL, NA and nan; None: they are an error
    comments    whether to keep the text after '#', one string per row
    n_jobs      threads; None for every core. The result does not depend on it

    zero_based  True: indices count from 0, though none may occur; False: they count from 1, and an index 0 is an
                error; None: they count from 0 if an index 0 occurs anywhere, else from 1; with n_features, None is
                False. Data for a model of a zero-based file need True

    Without any `qid:` all rows are one query, 0. The ids become int64 where each is written as a plain integer that
    fits, else all are kept as the strings they are. A malformed line is a LetorError, which names it; blank lines and
    lines that begin with '#' are skipped.
    """
    from rankwise.data.letor_parts import Options, counts_from
    from rankwise.foundation.threads import thread_count

    chosen = _checked_dtype(dtype, missing)
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}")
    zero_based = counts_from(zero_based, n_features)
    options = Options(n_features, dense, chosen, missing, comments, thread_count(n_jobs), zero_based)
    sources = list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    return _read(sources, options)


def _checked_dtype(dtype: Any, missing: float | None) -> Any:
    """The type of X, which must hold the value for what is missing."""
    from rankwise.data.columns import check_missing

    check_missing(missing)
    chosen = np.dtype(dtype)
    if chosen not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {chosen}")
    if missing is not None and abs(missing) > float(np.finfo(chosen).max):
        raise ValueError(f"missing is {missing}, which {chosen} cannot hold")
    return chosen


def _read(sources: list[Any], options: Any) -> RankingData:
    from rankwise.data.letor_join import join
    from rankwise.data.letor_parts import Seen, read_part

    seen, parts = Seen(), []
    for texts, whole in _batches(sources):
        part = read_part(texts, options, seen, whole=whole)
        if part is not None and whole:
            return RankingData(part.X, part.y, part.qid, part.comments, part.base)
        if part is not None:
            parts.append(part)
    if not parts:
        raise LetorError("there are no rows to read", ", ".join(_name(one) for one in sources) or "an empty list")
    return join(parts, options)


def _batches(sources: list[Any]) -> Iterator[tuple[list[Any], bool]]:
    """Yield (texts to read together, whether they are the whole input)."""
    from rankwise.data.streams import open_bytes, stored, streamed, unchanged

    texts = [stored(Path(one)) if _is_path(one) else None for one in sources]
    if all(text is not None for text in texts):
        yield texts, True
        return
    for one, text in zip(sources, texts, strict=True):
        if text is not None:
            yield [text], False
            continue
        with ExitStack() as closing:
            if not _is_path(one):
                file = sys.stdin.buffer if isinstance(one, str) else one
            else:
                closing.enter_context(unchanged(Path(one)))
                file = closing.enter_context(open_bytes(Path(one), "rb"))
            for piece in streamed(file, _name(one)):
                yield [piece], False


def _is_path(one: Any) -> bool:
    if isinstance(one, str | os.PathLike):
        return one != "-"
    if not hasattr(one, "read"):
        raise TypeError(f"a source must be a path, '-' or an open file, got {type(one).__name__}")
    return False


def _name(one: Any) -> str:
    if _is_path(one):
        return str(one)
    return "standard input" if isinstance(one, str) else str(getattr(one, "name", "the file given"))

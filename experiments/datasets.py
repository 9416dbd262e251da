"""The real data: LETOR's folds, read once a process."""

from functools import cache
from pathlib import Path

from rankwise import RankingData, read_letor


@cache
def parts(data: Path, name: str, *numbers: int) -> RankingData:
    """Parts S1 … S5 of a LETOR set as one."""
    return read_letor([data / name / f"S{number}.txt.xz" for number in numbers], dense=True)


def fold(data: Path, name: str, number: int = 1) -> tuple[RankingData, RankingData, RankingData]:
    """Training, validation and test data of LETOR's fold 1 … 5: the parts rotate."""
    first, second, third, fourth, fifth = ((number - 1 + step) % 5 + 1 for step in range(5))
    return parts(data, name, first, second, third), parts(data, name, fourth), parts(data, name, fifth)

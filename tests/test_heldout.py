"""The whole road on data that rankwise was not built on: `tests/heldout.py`."""

from types import SimpleNamespace

import numpy as np
import pytest
from heldout import Fit, Fits, Violations, main

from rankwise import RankingData, make_ranking, write_data

QUICKLY = "--quick", "--limit", "5"


def test_the_whole_road_on_a_folder_of_files(tmp_path, capsys):
    for name, seed in (("text/part1.txt.xz", 1), ("text/part2.txt.xz", 2), ("tables/all.csv.gz", 3)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        write_data(path, make_ranking(4, 8, 5, random_state=seed))
    (tmp_path / "text" / "README.md").write_text("not data")
    assert main([str(tmp_path), *QUICKLY, "--C", "1"]) == 0
    shown = capsys.readouterr().out
    assert "text: RankingData(64 rows, 5 features" in shown
    assert "tables: RankingData(32 rows, 5 features" in shown
    assert "0 violations" in shown


def fits_that_say(tmp_path, violations, gap, converged):
    """Two fits of one pair: the optimum, ½ (1/2)² + ..., and w = 0, which claims `gap`."""
    data = RankingData(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.array([1, 1]))
    fits = Fits("one pair", data, tmp_path, SimpleNamespace(client=None), violations)
    best, other = (
        Fit("squared_hinge", 1.0, name, 0.0, ranker(w, value, gap, converged), 1e-3, value)
        for name, w, value in (("newton", 2 / 3, 1 / 3), ("forged", 0.0, 1.0))
    )
    fits.compare([best, other])


def ranker(w, value, gap, converged):
    result = SimpleNamespace(value=value, gap=gap, converged=converged, message="", gap_estimate=gap)
    return SimpleNamespace(coef_=np.array([w]), result_=result)


def test_a_certificate_that_is_wrong_is_found(tmp_path):
    violations = Violations()
    fits_that_say(tmp_path, violations, gap=0.5, converged=False)
    assert violations == ["one pair: forged squared_hinge C=1: gap 0.5, but it is 0.667 above the best"]


def test_converged_far_from_the_best_is_found(tmp_path):
    violations = Violations()
    fits_that_say(tmp_path, violations, gap=0.7, converged=True)
    assert len(violations) == 1
    assert "converged 0.667 above the best value" in violations[0]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--variants", "--C", "1"]])
def test_the_whole_road_on_the_real_data(letor_data, options):
    assert main([str(letor_data), "--rows", "1500", *QUICKLY, *options]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--variants", "--C", "1"]])
def test_the_whole_road_on_the_data_of_scikit_learn(options):
    assert main(["--bundled", "--rows", "500", *QUICKLY, *options]) == 0

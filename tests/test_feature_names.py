"""Features are matched by name, wherever a model was trained and wherever it scores: in order, or refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from commands import run

from rankwise import KernelRankSVM, RankingData, RankSVM, ScaledRanker, from_frame, load_model, load_sample, save_model

SAMPLE = load_sample()
DATA = SAMPLE.select(SAMPLE.qid <= 6)
ORDER = np.random.default_rng(0).permutation(DATA.n_features)
CALLED = {  # how the features are called
    "by name": [f"n{i}" for i in range(13)],
    "f1, f2, ...": [f"f{i + 1}" for i in range(13)],
    "f0, f1, ...": [f"f{i}" for i in range(13)],
    "by texts of numbers": [str(i) for i in range(13)],
}


def frame_of(names, order=slice(None)):
    frame = pd.DataFrame(DATA.X, columns=names).iloc[:, order]
    return pd.concat([pd.DataFrame({"label": DATA.y, "qid": DATA.qid}), frame], axis=1)


def trained_by_command(folder, names, scaler, kernel):
    frame_of(names).to_csv(folder / "train.csv", index=False)
    options = ["--normalize", scaler] if scaler else []
    options += ["--kernel", kernel, "--components", 5] if kernel else []
    run("train", folder / "train.csv", "-o", folder / "m.json", *options)


def trained_in_python(folder, names, scaler, kernel, *, from_a_frame):
    ranker = KernelRankSVM(kernel=kernel, n_components=5, random_state=0) if kernel else RankSVM()
    ranker = ScaledRanker(ranker, scaler) if scaler else ranker
    frame = frame_of(names)
    fitted = ranker.fit(frame, y="label", qid="qid") if from_a_frame else ranker.fit(from_frame(frame))
    save_model(fitted, folder / "m.json")
    return fitted


ROADS = {
    "a command": trained_by_command,
    "a frame": lambda *given: trained_in_python(*given, from_a_frame=True),
    "a RankingData": lambda *given: trained_in_python(*given, from_a_frame=False),
}


def refused(names):
    """The same columns in another order: scikit-learn wants an error of every estimator."""
    features = frame_of(names, ORDER).iloc[:, 2:]
    return features, pa.Table.from_pandas(features, preserve_index=False)


def matched(names):
    """The same with further columns; data of rankwise; names that scikit-learn does not see."""
    whole = frame_of(names, ORDER)
    yield whole
    yield RankingData(np.ascontiguousarray(DATA.X[:, ORDER]), DATA.y, DATA.qid, names=[names[i] for i in ORDER])
    if all(name.isdigit() for name in names):
        yield whole.iloc[:, 2:].rename(columns=int)


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("names", CALLED.values(), ids=CALLED)
@pytest.mark.parametrize("kernel", [None, "rbf"], ids=["linear", "kernel"])
@pytest.mark.parametrize("scaler", [None, "zscore", "query-minmax"])
@pytest.mark.parametrize("road", ROADS)
def test_moved_columns_are_put_into_order_or_refused(tmp_path, road, scaler, kernel, names):
    """A model that a command had trained with a scaler gave them other scores: NDCG 0.82 became 0.63."""
    fitted = ROADS[road](tmp_path, names, scaler, kernel)
    loaded = load_model(tmp_path / "m.json")
    expected = loaded.predict(DATA.X, DATA.qid)
    assert not np.allclose(loaded.predict(DATA.X[:, ORDER], DATA.qid), expected)
    for ranker in (loaded, fitted or loaded):
        for rows in refused(names):
            with pytest.raises(ValueError, match="order"):
                ranker.predict(rows, DATA.qid)
        for rows in matched(names):
            scores = ranker.predict(rows, None if isinstance(rows, RankingData) else DATA.qid)
            np.testing.assert_allclose(scores, expected, rtol=1e-9)
    frame_of(names, ORDER).to_csv(tmp_path / "moved.csv", index=False)
    told = run("predict", tmp_path / "m.json", tmp_path / "moved.csv").stdout
    np.testing.assert_allclose(np.array(told.split(), np.float64), expected, rtol=1e-9)

"""TREC files: what is written comes back, faults are named, and pytrec_eval reads the same numbers."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import RankSVM, evaluate, load_sample, read_letor
from rankwise.data.document_ids import document_ids
from rankwise.data.records import RankingData
from rankwise.data.trec import (
    join,
    read_qrels,
    read_run,
    scores_for,
    write_qrels,
    write_run,
)


@pytest.fixture
def files(tmp_path):
    """Writes texts as run and qrels and reads them."""

    def read(run, qrels):
        (tmp_path / "run").write_text("".join(f"{line}\n" for line in run))
        (tmp_path / "qrels").write_text("".join(f"{line}\n" for line in qrels))
        return read_run(tmp_path / "run"), read_qrels(tmp_path / "qrels")

    return read


def test_the_files_themselves(tmp_path):
    y, scores = [1, 0, 2.5, 0], [0.1, 7.0, 0.25, 0.25]
    qid, docid = ["b", "b", "a", "a"], ["d1", "d2", "d1", "d9"]
    write_run(tmp_path / "run", scores, qid, docid, tag="mine")
    write_qrels(tmp_path / "qrels", y, qid, docid)
    assert (tmp_path / "run").read_text() == (
        "b Q0 d2 1 7.0 mine\nb Q0 d1 2 0.1 mine\na Q0 d1 1 0.25 mine\na Q0 d9 2 0.25 mine\n"
    )
    assert (tmp_path / "qrels").read_text() == "b 0 d1 1\nb 0 d2 0\na 0 d1 2.5\na 0 d9 0\n"


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e300, 1e300)), min_size=1, max_size=20))
def test_there_and_back(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("trec")
    qid, scores = np.array([q for q, _ in rows]), np.array([s for _, s in rows])
    docid = np.arange(len(rows)) % 7 + 10 * np.arange(len(rows))
    write_run(folder / "run", scores, qid, docid)
    write_qrels(folder / "qrels", scores, qid, docid)
    run, qrels = read_run(folder / "run"), read_qrels(folder / "qrels")
    np.testing.assert_array_equal(scores_for(run, qid, docid), scores)
    joined = join(run, qrels)
    np.testing.assert_array_equal(joined.y, joined.scores)
    assert sorted(zip(joined.qid.tolist(), joined.docid.tolist(), strict=True)) == sorted(
        zip(map(str, qid), map(str, docid), strict=True)
    )


def test_compressed_blank_lines_tabs_and_names_that_are_not_ascii(tmp_path):
    with gzip.open(tmp_path / "run.gz", "wb") as file:
        file.write("\ufeff1\tQ0\tčaj\t1\t2.5\tx\r\n\n1 Q0 d 2 1e-3 x".encode())
    run = read_run(tmp_path / "run.gz")
    assert run.docid.tolist() == ["čaj", "d"]
    assert run.values.tolist() == [2.5, 0.001]


def test_document_ids():
    sample = load_sample("test")
    assert document_ids(sample)[0] == sample.comments[0].split()[-1]
    X = np.zeros((2, 1))
    assert document_ids(RankingData(X, [0, 1], [1, 1])).tolist() == [1, 2]
    assert document_ids(RankingData(X, [0, 1], [1, 1], ["a note", ""])).tolist() == [1, 2]
    named = RankingData(X, [0, 1], [1, 2], ["docid = GX-1 inc = 1", "docid=GX-1"])
    assert document_ids(named).tolist() == ["GX-1", "GX-1"]
    with pytest.raises(ValueError, match="row 2 has no `docid = NAME` in its comment"):
        document_ids(RankingData(X, [0, 1], [1, 1], ["docid = a", "none"]))
    with pytest.raises(ValueError, match="rows 1 and 2 are both document a of query 1"):
        document_ids(RankingData(X, [0, 1], [1, 1], ["docid = a", "docid = a"]))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1 Q0 a 1 0.5 x", "1 Q0 b 2 0.5"], "run, line 2: expected 6 fields, `qid Q0 docid rank score tag`, found 5"),
        (["1 Q0 a 1 half x"], "run, line 1: the score must be a finite number, found 'half'"),
        (["1 Q0 a 1 nan x"], "run, line 1: the score must be a finite number"),
        (["1 Q0 a 1 3 x", "", "1 Q0 a 2 2 x"], "run, line 3: document a of query 1 was on line 1 already"),
        ([], "run is empty: expected lines `qid Q0 docid"),
    ],
)
def test_faulty_files(files, lines, message):
    with pytest.raises(ValueError, match=message):
        files(lines, ["1 0 a 1"])


def test_faulty_qrels(files):
    with pytest.raises(ValueError, match=r"qrels, line 1: expected 4 fields, `qid 0 docid label`, found 3"):
        files(["1 Q0 a 1 0.5 x"], ["1 a 1"])


def test_documents_that_are_missing(files):
    run, qrels = files(["1 Q0 a 1 3 x", "1 Q0 b 2 2 x", "9 Q0 z 1 1 x"], ["1 0 a 1", "1 0 c 2"])
    with pytest.raises(ValueError, match="qrels does not judge document b of query 1: give a label"):
        join(run, qrels)
    with pytest.raises(ValueError, match=r"run lacks document c of query 1, which .*qrels judges: rank such"):
        join(run, qrels, unjudged=0)
    found = join(run, qrels, unjudged=0, unretrieved_last=True)
    assert found.docid.tolist() == ["c", "b", "a"]
    assert found.y.tolist() == [2, 0, 1]
    assert np.argsort(-found.scores).tolist() == [2, 1, 0]
    assert set(found.qid) == {"1"}
    run, qrels = files(["1 Q0 a 1 3 x"], ["1 0 a 1", "2 0 a 2"])
    with pytest.raises(ValueError, match=r"run has no document of query 2, which .*qrels judges"):
        join(run, qrels, unretrieved_last=True)
    with pytest.raises(ValueError, match="run has no document b of query 1, which the data have"):
        scores_for(run, [1, 1], ["a", "b"])
    run, _ = files(["1 Q0 a 1 3 x", "1 Q0 b 1 3 x"], ["1 0 a 1"])
    with pytest.raises(ValueError, match="run ranks document b of query 1, which the data do not have"):
        scores_for(run, [1], ["a"])


def test_ids_that_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="'a b' cannot stand in a TREC file"):
        write_qrels(tmp_path / "q", [1], [1], ["a b"])
    with pytest.raises(ValueError, match="one name for each of the 1 documents"):
        write_run(tmp_path / "r", [1], [1], ["a", "b"])
    assert not list(tmp_path.iterdir())


def by_pytrec_eval(run, qrels, names):
    """pytrec_eval's own numbers: name -> query -> value."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judged, ranked = {}, {}
    for rows, into, kind in ((qrels, judged, int), (run, ranked, float)):
        for (query, document), i in rows.places.items():
            into.setdefault(query, {})[document] = kind(rows.values[i])
    found = pytrec_eval.RelevanceEvaluator(judged, set(names)).evaluate(ranked)
    return {name: {query: one[name] for query, one in found.items()} for name in names}


PAIRS = {"ndcg_cut_10": "ndcg@10:trec", "ndcg": "ndcg:trec", "map": "map:ties=stable", "P_5": "precision@5:ties=stable"}
PAIRS |= {"recip_rank": "mrr:ties=stable", "recall_10": "recall@10:ties=stable"}


def agrees_with_pytrec_eval(run, qrels, joined, pairs):
    found = evaluate(joined.y, joined.scores, joined.qid, list(pairs.values()))
    for theirs, values in by_pytrec_eval(run, qrels, list(pairs)).items():
        ours = found.per_query[str(pairs[theirs])]
        np.testing.assert_allclose(ours, [values[query] for query in found.query_ids.tolist()], rtol=1e-12)


@pytest.mark.parametrize("name", ["mq2008", "ohsumed"])
def test_pytrec_eval_on_real_data(letor_data, tmp_path, name):
    """Scores of one decimal: ties there are, and none that only float32, which trec_eval keeps, takes for one."""
    data = read_letor(letor_data / name / "S5.txt.xz", comments=True, dense=True)
    scores = np.round(RankSVM(C=0.01).fit(data.X, data.y, data.qid).predict(data.X), 1)
    docid = document_ids(data)
    write_run(tmp_path / "run.gz", scores, data.qid, docid)
    write_qrels(tmp_path / "qrels", data.y, data.qid, docid)
    run, qrels = read_run(tmp_path / "run.gz"), read_qrels(tmp_path / "qrels")
    np.testing.assert_array_equal(scores_for(run, data.qid, docid), scores)
    joined = join(run, qrels)
    agrees_with_pytrec_eval(run, qrels, joined, PAIRS)
    direct = evaluate(data.y, scores, data.qid, "ndcg@10")["ndcg@10"]
    assert evaluate(joined.y, joined.scores, joined.qid)["ndcg@10"] == pytest.approx(direct, rel=1e-14)


def test_pytrec_eval_with_documents_missing_on_both_sides(files):
    """Judged documents that were not retrieved count in the ideal list; to the depth of the run all else agrees."""
    rng = np.random.default_rng(0)
    run, qrels = [], []
    for query in range(30):
        judged = rng.choice(40, 25, replace=False)
        retrieved = np.concatenate((rng.choice(judged, 12, replace=False), [50, 51, 52]))
        labels, scores = rng.integers(0, 4, 25), rng.integers(0, 9, 15)
        qrels += [f"{query} 0 d{d} {label}" for d, label in zip(judged, labels, strict=True)]
        run += [f"{query} Q0 d{d} 1 {score} x" for d, score in zip(retrieved, scores, strict=True)]
    run, qrels = files(run, qrels)
    joined = join(run, qrels, unjudged=0, unretrieved_last=True)
    pairs = {"ndcg_cut_10": "ndcg@10:trec", "P_5": "precision@5:ties=stable", "recall_10": "recall@10:ties=stable"}
    agrees_with_pytrec_eval(run, qrels, joined, pairs)

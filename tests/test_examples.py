"""examples/search: the road is walked, and the requests to search engines fit what rankwise reads and writes."""

import contextlib
import json
import math
import re
import sys
from pathlib import Path

import commands
import numpy as np
import pytest

import rankwise

ROOT = Path(__file__).resolve().parents[1]
SEARCH = ROOT / "examples" / "search"
NASTY = 'o\'brien "quoted" \\ {!x} ${y} {{z}}, 100 %'

pytest.importorskip("tantivy")
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def example():
    """The modules of the example, as `python examples/search/road.py` imports them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SEARCH))
        import road

        patch.setattr(road, "rankwise", commands.run)  # in this process, where all that they import is there already
        yield sys.modules
        for path in SEARCH.glob("*.py"):
            sys.modules.pop(path.stem, None)


@pytest.fixture(scope="module")
def folder(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("road")
    with contextlib.chdir(folder):
        measured = example["road"].walk()  # which exits if an export ranks otherwise than the model
    (folder / "measured.json").write_text(json.dumps(measured))
    return folder


@pytest.fixture(scope="module")
def engine(example):
    return example["engine"].Engine(example["films"].catalogue(300))


def test_road(folder):
    measured = json.loads((folder / "measured.json").read_text())
    shown = re.search(r"text_bm25 +([\d.]+)\n +model +([\d.]+)", (ROOT / "docs" / "search.md").read_text()).groups()
    assert [measured["BM25"], measured["learnt"]] == pytest.approx([float(value) for value in shown], abs=1e-3)
    train, test = (rankwise.read_data(folder / f"{part}.parquet") for part in ("train", "test"))
    assert len(np.unique(train.qid)) == 200
    assert not np.isin(test.qid, train.qid).any()


def test_an_export_that_ranks_otherwise_is_found(example, folder, monkeypatch):
    road = example["road"]
    monkeypatch.chdir(folder)
    data = rankwise.read_data("test.parquet")
    predicted = np.loadtxt("scores.txt")
    road.check_exports(data, predicted)
    worse = predicted.copy()
    best, next_best = np.argsort(-worse[data.qid == data.qid[0]])[:2]
    worse[[best, next_best]] = worse[[next_best, best]]
    with pytest.raises(SystemExit, match=r"ranker\.py orders 1 pairs"):
        road.check_exports(data, worse)
    unseen = [example["films"].Query(data.qid[0], "sea")]
    with pytest.raises(SystemExit, match="the engine ranks otherwise"):
        road.check_live(example["collect"].Engine(example["films"].catalogue()), unseen, data, worse)


def test_catalogue_is_reproducible(example):
    films = example["films"]
    assert films.catalogue(50) == films.catalogue(50)
    assert len({query.text for query in films.queries(films.catalogue(50), 40)}) == 40


def test_features_are_what_the_engine_explains(example, engine):
    films = {film.id: film for film in example["films"].catalogue(300)}
    text = "the long bridge"
    found = engine.search(text, 40)
    hits = dict(zip(found, engine.searcher.search(engine._match(text, "text"), 40).hits, strict=True))
    for id, values in engine.features(text, found).items():
        film, (_, address) = films[id], hits[id]
        explained = json.loads(engine._match(text, "text").explain(engine.searcher, address).to_json())
        assert values["text_bm25"] == pytest.approx(explained["value"], rel=1e-6)
        assert values["popularity"] == pytest.approx(math.log10(1 + film.votes))
        assert values["year"] == film.year
        assert ("title_phrase" in values) == (text in film.title.lower())
        words = re.findall(r"\w+", f"{film.title} {film.body}".lower())
        assert ("all_words" in values) == all(word in words for word in text.split())
        assert ("title_bm25" in values) == any(word in film.title.lower().split() for word in text.split())


@pytest.mark.parametrize("text", [NASTY, "AND OR NOT", "title:sea", '"'])
def test_any_text_can_be_searched(example, engine, text):
    found = engine.search(text, 5)
    assert list(engine.features(text, found)) == found


def test_feature_names_are_the_same_everywhere(example, folder):
    body, names = example["bodies"].body, list(example["engine"].FEATURES)
    features = body("elasticsearch-feature-set")["featureset"]
    assert [one["name"] for one in features["features"]] == names
    assert [one["name"] for one in body("solr-features")] == names
    model = json.loads((folder / "elasticsearch.json").read_text())["model"]
    assert list(json.loads(model["model"]["definition"])) == names
    assert model["name"] == body("elasticsearch-rescore")["rescore"]["query"]["rescore_query"]["sltr"]["model"]
    solr = json.loads((folder / "solr.json").read_text())
    assert [one["name"] for one in solr["features"]] == names
    assert {one["store"] for one in body("solr-features")} == {solr["store"]}
    assert f"model={solr['name']} " in body("solr-rerank")["rq"]


def test_opensearch_takes_the_same_body(folder):
    model = folder / "model.json"
    bodies = [rankwise.export(model, to, name="films").text for to in ("elasticsearch", "opensearch")]
    assert bodies[0] == bodies[1]


def test_templates_use_the_parameters_they_are_given(example):
    body = example["bodies"].body
    for feature in body("elasticsearch-feature-set")["featureset"]["features"]:
        assert set(re.findall(r"\{\{(\w+)}}", json.dumps(feature["template"]))) == set(feature["params"])
    given = {"keywords"}
    for name in ("elasticsearch-log", "elasticsearch-rescore"):
        assert set(re.findall(r'"params": \{"(\w+)"', json.dumps(body(name)))) == given
    assert set(re.findall(r"\$\{(\w+)}", json.dumps(body("solr-features")))) == given
    for name, parameter in (("solr-log", "fl"), ("solr-rerank", "rq")):
        assert set(re.findall(r"efi\.(\w+)=\$q[\]}]", body(name)[parameter])) == given


def test_what_is_reranked_fills_the_page(example):
    """Documents beyond the window keep the score 0, which is better than a negative one."""
    rescore = example["bodies"].body("elasticsearch-rescore")
    assert rescore["rescore"]["query"]["query_weight"] == 0
    assert rescore["size"] <= rescore["rescore"]["window_size"]
    rerank = example["bodies"].body("solr-rerank")
    assert int(rerank["rows"]) <= int(re.search(r"reRankDocs=(\d+)", rerank["rq"])[1])


def elasticsearch_answer(request, feature_set):
    """What the plugin answers to a request for a log: every second document matches no feature."""
    ids, sltr = request["query"]["bool"]["filter"][0]["terms"]["_id"], request["query"]["bool"]["filter"][1]["sltr"]
    spec = request["ext"]["ltr_log"]["log_specs"]
    assert spec["named_query"] == sltr["_name"]
    assert sltr["featureset"] == feature_set["name"]
    names = [one["name"] for one in feature_set["features"]]
    logs = [[{"name": name} for name in names], [{"name": name, "value": 1.5} for name in names]]
    hits = [
        {"_id": id, "matched_queries": [sltr["_name"]], "fields": {"_ltrlog": [{spec["name"]: logs[i % 2]}]}}
        for i, id in enumerate(ids[: request["size"]])
    ]
    return {"hits": {"hits": hits}}


def solr_answer(parameters, features):
    """What Solr answers to such parameters, with echoParams telling the query."""
    ids = parameters["fq"].removeprefix("{!terms f=id}").split(",")
    store = re.fullmatch(r"id,\[features store=(\w+) efi\.keywords=\$q\]", parameters["fl"])[1]
    logged = ",".join(f"{one['name']}=1.5" for one in features if one["store"] == store)
    header = {"params": parameters} if parameters["echoParams"] == "explicit" else {}
    docs = [{"id": id, "[features]": logged} for id in ids[: int(parameters["rows"])]]
    return {"responseHeader": header, "response": {"numFound": len(docs), "docs": docs}}


@pytest.mark.parametrize("keywords", ["dark harbour", NASTY])
def test_answers_to_the_log_requests_can_be_joined(example, tmp_path, keywords):
    body, names = example["bodies"].body, example["engine"].FEATURES
    ids = [f"film-{i}" for i in range(40)]
    judged = [{"query": keywords, "docid": id, "rating": i % 3} for i, id in enumerate(ids)]
    answers = {
        "elasticsearch": elasticsearch_answer(
            body("elasticsearch-log", keywords, ids), body("elasticsearch-feature-set")["featureset"]
        ),
        "solr": solr_answer(body("solr-log", keywords, ids), body("solr-features")),
    }
    for engine, answer in answers.items():
        (tmp_path / "log.json").write_text(json.dumps(answer))
        joined = rankwise.join(judged, tmp_path / "log.json", missing=0.0)
        assert joined.report.features.format == engine
        assert joined.data.names == names
        assert joined.data.docid.tolist() == ids
        assert set(joined.data.qid) == {keywords}
        assert joined.data.X[1].tolist() == [1.5] * len(names)


def test_requests_are_written_for_a_query(folder):
    written = {path.name for path in (folder / "requests").iterdir()}
    assert written == {path.name for path in (SEARCH / "requests").iterdir()}
    for name in written:
        text = (folder / "requests" / name).read_text()
        assert "KEYWORDS" not in text
        assert "IDS" not in text

"""Every format of features gives the same values; what is wrong is named."""

import io
import json

import pytest

from rankwise.foundation.names import Patterns
from rankwise.joining.formats import FEATURES, read_records
from rankwise.joining.inputs import opened_input

ROWS = [  # as all texts below tell
    ("rambo", "7555", {"title": 9.5, "body": 1e-7}),
    ("rambo", "1370", {"title": None, "body": -2.0}),
    ("rocky, the first", "4241", {"title": 0.0, "body": 3.0}),
]


def hit(query, docid, values, logs=("log",)):
    entries = [{"name": name} | ({} if value is None else {"value": value}) for name, value in values.items()]
    entries.append({"name": "extra_logging", "value": {"why": [1, 2]}})
    log = dict.fromkeys(logs, entries)
    source = {"id": f"s{docid}", "deep": {"a": [{"b": [[1]]}]}}
    return {"_id": docid, "_source": source, "fields": {"_ltrlog": [log]}, "matched_queries": [query]}


def responses(logs=("log",)):
    hits = [hit(*row, logs) for row in ROWS]
    return [{"took": 1, "hits": {"total": {"value": len(some)}, "hits": some}} for some in (hits[:2], hits[2:])]


def solr(between="=", after=","):
    docs = [
        {"id": d, "[features]": after.join(f"{n}{between}{v}" for n, v in values.items() if v is not None)}
        for _, d, values in ROWS
    ]
    heads = [{"params": {"q": q}, "status": 0} for q in ("rambo", "rocky, the first")]
    return [
        {"responseHeader": head, "response": {"numFound": 9, "docs": some}}
        for head, some in zip(heads, (docs[:2], docs[2:]), strict=True)
    ]


def lines(values):
    return "\n".join(map(json.dumps, values))


VESPA = "query_id,doc_id,relevance_label,relevance_score,title,body\n" + "".join(
    f'"{q}",{d},1,0.3,{"" if v["title"] is None else v["title"]},{v["body"]}\n' for q, d, v in ROWS
)
TABLE = "query_text,doc,title,body\n" + "".join(
    f'"{q}",{d},{"NA" if v["title"] is None else v["title"]},{v["body"]}\n' for q, d, v in ROWS
)
FORMATS = {
    "elasticsearch": json.dumps({"took": 3, "responses": responses()}),
    "elasticsearch in lines": lines(responses()),
    "elasticsearch one after the other": "".join(json.dumps(one, indent=2) for one in responses()),
    "elasticsearch as a list": json.dumps(responses(), indent=1),
    "elasticsearch with queries": lines(
        {"query": q, "response": one} for q, one in zip(("rambo", "rocky, the first"), responses(), strict=True)
    ),
    "solr": lines(solr()),
    "solr as a list": json.dumps(solr(), indent=2),
    "vespa": VESPA,
    "csv": TABLE,
    "jsonl": lines({"query": q, "docid": d} | v for q, d, v in ROWS),
    "jsonl nested": lines({"query": q, "docid": d, "features": v} for q, d, v in ROWS),
}


def read(text, format=None, **options):
    with opened_input(io.BytesIO(text.encode())) as input:
        name, records = read_records(input, FEATURES, format, options)
        return name, list(records)


def plain(records):
    """Without features that have no value: Solr leaves them out."""
    return [(q, d, {name: v for name, v in values.items() if v is not None}) for q, d, values, _ in records]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_recognised_and_read(name):
    format, records = read(FORMATS[name])
    assert format == name.split()[0]
    assert plain(records) == plain([(*row, "") for row in ROWS])
    assert read(FORMATS[name], format)[1] == records
    without = plain(read(FORMATS[name], ignore=Patterns(["titl?"]))[1])
    assert [values for *_, values in without] == [{"body": 1e-7}, {"body": -2.0}, {"body": 3.0}]


def test_features_beside_an_object_of_features_are_not_lost():
    row = {"query": "rambo", "docid": "7555", "votes": 3, "features": {"title": 9.5}}
    assert plain(read(lines([row]))[1]) == [("rambo", "7555", {"votes": 3.0, "title": 9.5})]
    with pytest.raises(ValueError, match="line 1: 'votes' is both a member of the row and of its features"):
        read(lines([row | {"features": {"votes": 1}}]))


def test_ranklib():
    text = "# qid:1: rambo*1\n4 qid:1 1:9.5 3:1e-7 # 7555 x\n0 qid:1 3:-2 # 1370\n"
    format, records = read(text)
    assert format == "ranklib"
    assert plain(records) == [("rambo", "7555", {"f1": 9.5, "f3": 1e-7}), ("rambo", "1370", {"f3": -2.0})]
    letor = "2 qid:10 1:1 #docid = GX000-00 inc = 1 prob = 0.1\n"
    assert plain(read(letor)[1]) == [("10", "GX000-00", {"f1": 1.0})]


def test_queries_in_order():
    expected = ["one", "one", "two"]
    for text in (FORMATS["elasticsearch"], FORMATS["elasticsearch with queries"], FORMATS["solr"]):
        assert [one.query for one in read(text, queries=["one", "two"])[1]] == expected
        with pytest.raises(ValueError, match="more responses than the 1 queries"):
            read(text, queries=["one"])
        with pytest.raises(ValueError, match="has 2 responses, and 3 queries are given"):
            read(text, queries=["one", "two", "three"])


def test_the_log_that_is_named():
    text = json.dumps(responses(logs=("a", "b")))
    with pytest.raises(ValueError, match=r"hit 1 has several logs \('a', 'b'\): say which by log_name"):
        read(text)
    assert plain(read(text, log_name="b")[1]) == plain([(*row, "") for row in ROWS])
    with pytest.raises(ValueError, match="has no log 'c'; it has 'a', 'b'"):
        read(text, log_name="c")


def test_ids_in_other_fields():
    assert [one.docid for one in read(FORMATS["elasticsearch"], features_doc="id")[1]] == ["s7555", "s1370", "s4241"]
    found = solr()
    for one in found:
        for doc in one["response"]["docs"]:
            doc["key"] = [doc.pop("id")]
    assert [one.docid for one in read(lines(found), features_doc="key")[1]] == ["7555", "1370", "4241"]
    with pytest.raises(ValueError, match="document 1: the field 'id' must be a text"):
        read(lines(found))


def test_separators_of_solr():
    text = lines(solr(":", " "))
    assert plain(read(text, solr_separators=": ")[1]) == plain([(*row, "") for row in ROWS])
    with pytest.raises(ValueError, match=r"found 'title:9.5 body:1e-07', expected name=value: solr_separators"):
        read(text)
    with pytest.raises(ValueError, match="solr_separators must be two different signs, such as '=,'; got ':'"):
        read(text, solr_separators=":")
    aliased = text.replace("[features]", "fv")
    assert len(read(aliased, solr_separators=": ", solr_field="fv")[1]) == 3
    with pytest.raises(ValueError, match=r"document 1: \[features\] is null, expected the logged features"):
        read(aliased)


def test_a_hit_without_a_log_has_no_features():
    bare = {"hits": {"hits": [{"_id": "1", "matched_queries": ["q"]}]}}
    assert plain(read(json.dumps(bare))[1]) == [("q", "1", {})]


def es(**changes):
    return json.dumps({"hits": {"hits": [hit(*ROWS[0]) | changes]}})


def log(*entries):
    return es(fields={"_ltrlog": [{"log": list(entries)}]})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (es(matched_queries=["a", "b"]), r"hit 1 has several names in matched_queries \(a, b\)"),
        (es(matched_queries=[]), "hit 1 has no matched_queries, so that its query is not known: give queries"),
        (es(_id=None), "hit 1: the document must be a text or a whole number, found null"),
        (es(fields={"_ltrlog": [1]}), "_ltrlog is 1, expected a list of one object"),
        (es(fields={"_ltrlog": [{"log": 1}]}), "the log is 1, expected a list of features"),
        (log({"value": 1}), 'found {"value": 1}, expected {"name": feature, "value": number}'),
        (log({"name": "a", "value": 1}, {"name": "a", "value": 1}), "has feature 'a' twice"),
        (log({"name": "a", "value": "high"}), "hit 1: feature 'a' must be a finite number, found 'high'"),
        (log({"name": "a", "value": 1e300 * 10}).replace("1e+301", "1e999"), "feature 'a' must be a finite number"),
        (log({"name": "a", "value": {}}), "feature 'a' must be a finite number, found {}"),
        ('{"hits": {"hits": 3}}', "hits.hits is 3, expected a list"),
        (
            '{"responses": [{"hits": {"hits": []}}, {"error": {"type": "boom"}}]}',
            "response 2 is an error of the engine",
        ),
        ('{"responses": [{"hits": {"hits": []}}, 7]}', "response 2: found 7, expected a response"),
        (lines(solr()).replace("9.5", "NaN!"), "feature 'title' must be a finite number, found 'NaN!'"),
        (lines(solr()).replace("title=9.5", "body=9.5"), "has feature 'body' twice"),
        (lines(solr()).replace('"q"', '"p"'), "has no responseHeader.params.q"),
        (TABLE + "q,d,x,1\n", "line 5: feature 'title' must be a finite number, found 'x'; ignore="),
        (",query,docid,a\n0,q,d,1\n", "column 1 has no name: name it, or write the table without it"),
        ('{"query": "a", "docid": [1], "x": 1}', "the document must be a text"),
        ('{"query": "a", "docid": 1, "x": 1}\n7\n', "line 2: found 7, expected an object"),
        ("1 qid:1 1:2 1:3 # d\n", "found '1:3', expected"),
        ("1 qid:1 a:2 # d\n", "found 'a:2', expected"),
    ],
)
def test_what_is_wrong_is_named(text, words):
    with pytest.raises(ValueError, match=words):
        read(text)

"""Every format of judgements gives the same ratings; what is wrong is named."""

import gzip
import io
import json

import pytest

from rankwise.joining.formats import JUDGMENTS, read_records
from rankwise.joining.inputs import opened_input

RATINGS = [("rambo", "7555", 4), ("rambo", "1370", 3), ("-rocky", "4241", 0)]  # as all texts below tell

CASE = "query,docid,rating\nrambo,7555,4\nrambo,1370,3\n -rocky,4241,0\nalien,,"
BOOK = "query,docid,Ann, @bob\nrambo,7555,4,\nrambo,1370,,3\n -rocky,4241,0,\n"
TABLE = "grade,keywords,docId\n4,rambo,7555\n3,rambo,1370\n0,-rocky,4241\n"
QRELS = "rambo 0 7555 4\nrambo\t0\t1370  3\r\n\n-rocky Q0 4241 0\n"
RANKLIB = "# qid:1: rambo*1\n# qid:2: -rocky*3\n\n4\tqid:1\t # 7555\tx\n3 qid:1 1:0.5 # 1370 y\n0 qid:2 # 4241\n"
KEYWORDS = "4 qid:1 # 7555 rambo\n3 qid:1 # 1370 rambo\n0 qid:2 # 4241 -rocky\n"
QUEPID = {
    "queries": [
        {"query": "rambo", "ratings": {"7555": 4, "1370": 3}},
        {"query_text": "-rocky", "ratings": {"4241": 0}},
        {"query": "alien", "ratings": None},
    ]
}
PAIRS = [
    {"query_text": q, "doc_id": d, "judgements": [{"rating": r, "unrateable": False, "user_email": "a@b.c"}]}
    for q, d, r in RATINGS
]
UNRATEABLE = {"query_text": "rambo", "doc_id": "5", "judgements": [{"rating": 1.0, "unrateable": True}]}
RRE = {
    "index": "movies",
    "topics": [
        {
            "query_groups": [
                {
                    "queries": [{"placeholders": {"$query": "rambo"}}],
                    "relevant_documents": {"7555": {"gain": 4}, "1370": {"rating": 3}},
                },
                {"queries": [{"$query": "-rocky"}], "relevant_documents": {"0": ["4241"]}},
            ]
        }
    ],
}
RRE_OF_QUEPID = {
    "queries": [
        {"placeholders": {"$query": "rambo"}, "relevant_documents": {"4": ["7555"], "3": [1370]}},
        {"placeholders": {"$query": "-rocky"}, "relevant_documents": {"0": ["4241"]}},
    ]
}
WORKBENCH = {
    "name": "Imported",
    "judgmentRatings": [
        {"query": "rambo", "ratings": [{"docId": "7555", "rating": "4.000"}, {"docId": "1370", "rating": "3.000"}]},
        {"query": "-rocky", "ratings": {"4241": "0.000"}},
    ],
}
LINES = "".join(json.dumps({"query": q, "doc_id": d, "rating": r}) + "\n" for q, d, r in RATINGS)

FORMATS = {
    "quepid": CASE,
    "quepid-book": BOOK,
    "csv": TABLE,
    "csv with tabs": TABLE.replace(",", "\t"),
    "csv with semicolons": TABLE.replace(",", ";"),
    "trec": QRELS,
    "ranklib": RANKLIB,
    "ranklib by comments": KEYWORDS,
    "quepid-json": json.dumps(QUEPID),
    "quepid-json in lines": json.dumps(QUEPID, indent=2),
    "quepid-book-json": json.dumps({"name": "b", "query_doc_pairs": [*PAIRS, UNRATEABLE]}),
    "rre": json.dumps(RRE),
    "rre of Quepid": json.dumps(RRE_OF_QUEPID, indent=1),
    "opensearch": json.dumps(WORKBENCH),
    "opensearch response": json.dumps({"took": 1, "hits": {"hits": [{"_id": "x", "_source": WORKBENCH}]}}),
    "jsonl": LINES,
    "jsonl in a list": json.dumps([json.loads(line) for line in LINES.splitlines()], indent=1),
}


def read(text, format=None, **options):
    with opened_input(io.BytesIO(text if isinstance(text, bytes) else text.encode())) as input:
        name, records = read_records(input, JUDGMENTS, format, options)
        return name, list(records)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_recognised_and_read(name):
    format, records = read(FORMATS[name])
    assert format == name.split()[0]
    rated = [(one.query, one.docid, one.rating) for one in records if one.rating is not None]
    assert rated == RATINGS
    assert read(FORMATS[name], format)[1] == records
    assert read("\ufeff" + FORMATS[name])[1] == records
    assert [one[:4] for one in read(FORMATS[name].replace("\n", "\r\n"))[1]] == [one[:4] for one in records]


def test_judges_are_told_apart():
    assert [one.judge for one in read(BOOK)[1] if one.rating is not None] == ["Ann", "@bob", "Ann"]
    assert {one.judge for one in read(FORMATS["quepid-book-json"])[1]} == {"a@b.c", "unknown"}


def test_only_quepid_puts_a_space_before_a_query():
    assert read("query,docid,rating\n x,1,1\n =1+1,2,2\n")[1][0].query == " x"
    assert read("query,docid,grade\n =1+1,2,2\n")[1][0].query == " =1+1"


def test_a_cell_may_hold_a_line_end():
    records = read('query,docid,rating\n"two\nlines",d,1\nx,e,\n')[1]
    assert [(one.query, one.place[-6:]) for one in records] == [("two\nlines", "line 2"), ("x", "line 4")]


def test_blank_lines_and_the_separator_of_a_spreadsheet_may_stand_first():
    for before in ("\n\n", "sep=;\n", '\ufeff\n"sep=;"\r\n'):
        format, records = read(before + TABLE.replace(",", ";"))
        assert (format, [one[:3] for one in records]) == ("csv", RATINGS)
    with pytest.raises(ValueError, match="line 4: found 1 cells, expected 3"):
        read("\nsep=;\nquery;docid;grade\nrambo\n")


def test_columns_can_be_said():
    text = "a,b,c,rating\nq,d,7,1\n"
    assert read(text, query="a", doc="b", rating="c")[1][0][:3] == ("q", "d", 7.0)


def test_compressed_files(tmp_path):
    with gzip.open(tmp_path / "q.csv.gz", "wt") as file:
        file.write(CASE)
    with opened_input(tmp_path / "q.csv.gz") as input:
        assert len(list(read_records(input, JUDGMENTS, None, {})[1])) == 4


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, "is empty"),
        (" \n\n", {}, "is empty"),
        ("[]", {}, "holds nothing but an empty list"),
        ("hello\n", {}, "begins with 'hello', which is none of the formats known"),
        (",\n", {}, r"no column with a usual name .* \(its columns: \)"),
        ("a,b\n1,2\n", {}, r"no column with a usual name \(query,"),
        (CASE, {"rating": "x"}, "is read as 'quepid', to which rating does not apply"),
        (TABLE, {"rating": "x"}, "no column 'x' for rating"),
        ("query,docid,grade,label\nq,d,1,2\n", {}, r"several columns that could be meant \('grade', 'label'\)"),
        ("query,query,grade\n", {}, "two columns called 'query'"),
        (TABLE + "5,x\n", {}, "line 5: found 2 cells, expected 3"),
        (TABLE + "good,x,y\n", {}, "line 5: the rating must be a finite number, found 'good'"),
        (TABLE + "1e400,x,y\n", {}, "line 5: the rating must be a finite number, found '1e400'"),
        (TABLE + "9007199254740993,x,y\n", {}, "line 5: the rating '9007199254740993' is rounded"),
        (TABLE + "1,,y\n", {}, "line 5: the query must be a text"),
        (TABLE + "1,x,\n", {}, "line 5: the document must be a text"),
        (TABLE + '1,"x,\n', {}, "line 5: the row cannot be read"),
        (QRELS + "a b\n", {}, "line 5: found 2 fields, expected 4"),
        (KEYWORDS + "1 qid:1 # 9 rocky\n", {}, "call query 1 both 'rambo' and 'rocky'"),
        (RANKLIB + "1 qid:3 # 9\n", {}, "no header line `# qid:3: text`"),
        (KEYWORDS + "1 qid:1\n", {}, "line 4: found '1 qid:1', expected `rating qid:ID"),
        (json.dumps(QUEPID)[:-20], {}, "line 1, column .*: this is not JSON, or it is cut off"),
        (
            '{"queries": [{"query": "a", "ratings": {"x": NaN}}]}',
            {},
            "JSON from line 1 on: NaN is not a number in JSON",
        ),
        ('{"queries": [{"query": "a", "ratings": {"x": 1, "x": 2}}]}', {}, "the same name twice"),
        ('{"queries": [{"query": {}, "ratings": {"x": 1}}]}', {}, "queries 1, document 'x': the query must be"),
        ('{"queries": [{"query": "\\ud800", "ratings": {"x": 1}}]}', {}, "the query must be a text"),
        (LINES + '\n{"a": 1, "a": 2}', {}, "JSON from line 5 on: an object has the same name twice"),
        ('{"queries": {}}', {}, "queries is {}, expected a list"),
        ('{"judgmentRatings": [{"query": "a", "ratings": [{"docId": "x", "rating": true}]}]}', {}, "found true"),
        ("[" * 100_000, {}, "nested too deeply|not JSON"),
        (b"query,docid,rating\n\xff,d,1\n", {}, "line 2: the file is not text in UTF-8"),
    ],
)
def test_what_is_wrong_is_named(text, options, words):
    with pytest.raises(ValueError, match=words):
        read(text, **options)

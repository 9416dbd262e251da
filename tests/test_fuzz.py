"""Readers against slow readers written apart: what once differed, and a few seconds of new inputs for each target."""

import itertools

import pytest
from fuzz import __main__ as fuzz
from fuzz import references, targets

FINDINGS = {
    "letor": [
        b"1 qid:1 3:abc\n",
        b"1 qid:1 13:nan\n",
        b"1 qid:1 3:1:2\n",
        b"1 qid:1 13:\n",
        b"1 qid:1 3:1.791:17\n",
        b"1 qid:1 3:1e39\n",
        b"1  2:1 3:-0e-3 # doc3\n",
        b"1 qid:a 0:1 2:3\n0 qid:b 1:1",
        b"1 1:1\n1 1:1\n0 0:1\n",
        b"9007199254740993 qid:1 1:1\n",
        b"1 qid:1 1:9007199254740993 2:0.1234567890123456789 3:1 2:0.123e-310\n",
        b"1 qid:\xff 1:1\nx\n",
        b"1 qid:\xed\xa0\x80 1:1\nx\n",
        b"1 1:1\n0 2:1\r2147483647:1\n\n3:-na 1:1\n",
        b"\xfe\xff\xff\xff\xff\xff\0\0 :0:",
    ],
    "table": [
        b"label,qid,\r,1e999\n1,1.0,,,1,\n",
        b"label,qid,f1,f2\n1,1,0.5,2y0,1,\r,f1,f2\n1,1,0.5,2\n",
        b'label,comment,qid,"a,b","\n1,"x ""y""",q1,1,2\r\n',
        b"label,qid,f1\n9007199254740993,1,1\n",
        b"label,qid,f1\n1,a\x00,1\n1,a,1\n",
        b"qid\tlabel\tf1\n7\xe9\t1\t\n007\t66666666666666666666666666666662\tnan\n",
        b'label,qid,f1\n1,\xff,2\n1,"a\nb",3\n',
        b"docid,label,qid,sample_weight,f1\n7,1,1,-3,-4\n0.5,1\nd 8,0,1,2,-1\n",
        b'"label","qid","a\nb"\n1,1,2\n0,1,x\n',
        b'label;qid;"a,\r\n""b""";c\r\n1;1;2;3\r\n',
        b'label,qid,"a\nb"c,d\n1,1,2,3\n',
        b'label,qid,"a\rb"\r\r\n1,1,2\n',
        b'label,x","qid","a\n \r\nb",c\n1,2,1,3,4\n',
        b'label,qid,f1\n1,"\x00\n",2\n1,"\n\x00",3\n1,"a\xe9\nb",3\nx',
        b'\r"sep=|"\n,"',
        b"\n\nlabel,qid,\xe4\n1,1,2\n",
        b"",
    ],
    "trec": [
        b"q1 \x1c d1 1\nq1  d2 0\n",
        b"q1 0 d\xc2\xa01 1\n",
        b"q1 0 d1 1_0\n",
        b"q1 0 d1 \xd9\xa1\n",
        b"\xff\xfeuq1 1d 0 1\nq1 0 1\n",
    ],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FINDINGS.items() for text in texts])
def test_readers_agree_where_they_once_did_not(name, text):
    """With all combinations of the options that the first two bytes choose, or nearly all."""
    for number in range(0, 1 << 16, 97):
        getattr(targets, name)(number.to_bytes(2, "little") + text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_readers_agree_on_a_few_seconds_of_mutated_inputs(name):
    check, inputs = fuzz.checked(name), fuzz.inputs_of(name, seed=0)
    check(next(inputs))  # compiles
    for data in itertools.islice(inputs, 30 if name == "options" else 1000):
        try:
            check(data)
        except Exception as error:
            pytest.fail(f"{name}: {error!r} of {data!r}")


def test_a_reader_that_errs_is_found(monkeypatch):
    """The harness itself: a reference that skips what the reader refuses must be noticed."""
    honest = references.number
    monkeypatch.setattr(references, "number", lambda text, *rest: 0.0 if text == b"abc" else honest(text, *rest))
    with pytest.raises(targets.DisagreementError):
        targets.letor(b"\0\0" + b"1 qid:1 3:abc\n")

"""Where inputs come from: seeds, words worth inserting, and mutations of what there is."""

import random
import re

WORDS = {
    "letor": [b"0", b"1", b"-1", b"qid:1", b"qid:a", b"qid:", b"qid:007", b"qid:9223372036854775807", b"qid:-0", b"1:1",
              b"2:2", b"3:0.5", b"0:1", b"00:1", b"13:1", b"14:1", b"3:abc", b"3:nan", b"3:1:2", b"3:", b"3:1.791:17",
              b"3:1e39", b"3:3.4028235677973366e38", b"3:1e999", b"3:1e-320", b"3:NULL", b"3:-na", b"#", b" # x", b"\n",
              b"\r\n", b" ", b"\t", b"\v", b":", b".", b"e5", b"inf", b"2147483647:1", b"2147483648:1", b"\xff",
              b"\xc3\xbc", b"\xed\xa0\x80", b"\x00", b"9007199254740993", b"9007199254740992", b"\xef\xbb\xbf",
              b"0.1234567890123456789", b"99999999999999999999:1", b"3:0x1p3", b"3:1_0", b"qid:x#y", b"\x7f",
              b"000000000000000001:4", b"0000000000000000001:4", b"qid:1\xc2\xa0", b"\xe3\x80\x80"],
    "table": [b"label", b"qid", b"comment", b"docid", b"sample_weight", b"f1", b"f2", b"f0", b",", b"\t", b'"',
              b'""', b'"a,b"', b"\n", b"-1", b"\r\n", b'"a\nb"', b"\r", b" ", b"nan", b"None", b"NULL", b"na",
              b"1e999", b"1e-320", b"inf", b"0x1", b"1_0", b"007", b"7", b"1.0", b"-", b"\x00", b"\xff",
              b"\xef\xbb\xbf", b"9007199254740993", b"label,qid,f1\n", b'"1"', b"+1",
              b"sep=;\n", b"sep=,\r\n", b'"sep=|"\n', b"|"],
    "trec": [b"q1", b"Q0", b"d1", b"d2", b"1", b"0.5", b"tag", b"0", b" ", b"\t", b"\n", b"\r\n", b"\xc2\xa0", b"nan",
             b"1_0", b"inf", b"1e999", b"\xff", b"9007199254740993", b"\x1c", b"\xc2\x85", b"\x0b", b"\xd9\xa1"],
    "json": [b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"true", b"false", b"0", b"-1", b"1", b"1e999", b"NaN",
             b"1" + b"0" * 400, b"[" * 2000, b'"\\ud800"', b"4096", b"8192", b"2147483648", b'"<f8"', b'"O"', b'"<U9"',
             b'"../x"', b"0.5", b'{"a":1}', b"[1,2]", b'""'],
    "npz": [b"\x00" * 4, b"\xff" * 4, b"<f8", b"|O8", b">f8", b"<c16", b"<i8", b"<M8[ns]", b"(3,)", b"(-1,)", b"(3, 2)",
            b"(9999999999999,)", b"True", b"False", b"\x93NUMPY", b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"<U99"],
}  # fmt: skip

SEEDS = {
    "letor": [
        b"1 qid:1 1:0.5 2:1 3:-2e-3 # docid = a\n0 qid:1 3:7\n2 qid:2 1:1 13:4\n",
        b"1 1:1\n0 2:1\r\n\n# x\n3\n",
        b"1 qid:a 0:1 2:3\n0 qid:b 1:1",
        b"1 qid:1 1:9007199254740993 2:0.1234567890123456789 3:1e-310\n",
        b"\xef\xbb\xbf+1.5e2 qid:\xc3\xbc\t1:NULL  2:na\n",
    ],
    "table": [
        b"label,qid,f1,f2\n1,1,0.5,2\n0,1,1e-3,-4\n",
        b'label,comment,qid,"a,b",c\r\n1,"x ""y""",q1,1,2\r\n2,,q2,"3", 4 \r\n',
        b"qid\tlabel\tf1\n7\t1\t\n007\t2\tnan\n",
        b"label,qid,f0,f1\n1,1.0,1,1\n\n \r\n2,1,1,1",
        b"docid,label,qid,sample_weight,f1\n7,1,1,0.5,1\nd 8,0,1,2,-1\n",
        b'"label","qid","a\nb",c\n1,1,2,3\n0,1,-1,0.5\n',
        b'label;comment;qid;f1\n1;"x\n""y"";\r\n";"a\nb";2\n0;"\n";q;"1"\n',
        b"\n \r\nsep=;\r\nlabel;qid;f1\r\n1;1;2\r\n0;1;x,y\r\n",
    ],
    "trec": [
        b"q1 Q0 d1 1 0.5 tag\nq1 Q0 d2 2 0.25 tag\nq2\tQ0\td1 1 1e-3 tag\r\n",
        b"q1 0 d1 1\nq1 0 d2 0\n\nq2 0 d1 2\n",
    ],
}


def mutated(data, words, others, draw):
    """The input with one to six changes: words, bytes, lines, and pieces of other inputs."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 3, 6))):
        draw.choice(_CHANGES)(out, words, others, draw)
    return bytes(out[:4096])


def _insert(out, words, others, draw):
    place = draw.randrange(len(out) + 1)
    out[place:place] = draw.choice(words)


def _replace_token(out, words, others, draw):
    tokens = list(re.finditer(rb"[^ \t\n,]+", bytes(out)))
    if tokens:
        token = draw.choice(tokens)
        out[token.start() : token.end()] = draw.choice(words)


def _flip(out, words, others, draw):
    if out:
        out[draw.randrange(len(out))] = draw.randrange(256)


def _delete(out, words, others, draw):
    if out:
        begin = draw.randrange(len(out))
        del out[begin : begin + draw.choice((1, 1, 2, 8))]


def _shuffle_lines(out, words, others, draw):
    lines = bytes(out).split(b"\n")
    action = draw.randrange(3)
    place = draw.randrange(len(lines))
    if action == 0:
        lines.insert(place, draw.choice(lines))
    elif action == 1:
        lines.pop(place)
    else:
        draw.shuffle(lines)
    out[:] = b"\n".join(lines)


def _splice(out, words, others, draw):
    other = draw.choice(others)
    begin = draw.randrange(len(other) + 1)
    place = draw.randrange(len(out) + 1)
    out[place:place] = other[begin : begin + draw.choice((8, 32, 200))]


_CHANGES = (_insert, _insert, _replace_token, _replace_token, _flip, _delete, _shuffle_lines, _splice)


def stream(seeds, words, seed):
    """Inputs without end; what is worth keeping is sent back by the caller, who appends to `seeds`."""
    draw = random.Random(seed)
    while True:
        yield mutated(draw.choice(seeds), words, seeds, draw)

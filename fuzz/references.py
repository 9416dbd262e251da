"""The grammars of the text formats, line by line in plain Python; nothing is shared with the readers under test."""

import csv
import re
import sys
from dataclasses import dataclass, field
from itertools import takewhile

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INTEGER = re.compile(rb"[+-]?[0-9]+")
PLAIN_ID = re.compile(r"0|-?[1-9][0-9]{0,18}")
LARGEST_INDEX = 2**31 - 1
LARGEST = sys.float_info.max
# how UTF-16 and compressed or binary files begin
NO_TEXT = re.compile(rb"\xff\xfe|\xfe\xff|\x1f\x8b|\x28\xb5\x2f\xfd|\xfd7zXZ\0|PAR1\x15|PK\x03\x04")
BESIDES = ("label", "qid", "docid", "sample_weight", "comment")  # columns of a table that are no features


class RefusedError(Exception):
    """The line (and column, where both ways of looking at the line agree on one) of the first fault."""

    def __init__(self, line=None, column=None):
        super().__init__(line, column)
        self.line, self.column = line, column


@dataclass
class Rows:
    rows: list = field(default_factory=list)  # {index: value} of each line
    y: list = field(default_factory=list)
    ids: list = field(default_factory=list)
    comments: list = field(default_factory=list)
    base: int = 1
    n_features: int = 0
    documents: list = field(default_factory=list)
    weights: list = field(default_factory=list)

    def qid(self):
        return one_type(self.ids)


def one_type(ids):
    """int64 where all ids are plain integers that fit, else texts."""
    if all(PLAIN_ID.fullmatch(one) and -(2**63) < int(one) < 2**63 for one in ids):
        return [int(one) for one in ids]
    return ids


def lines_of(data):
    """The lines of a text; a file that is no text is refused as a whole."""
    if NO_TEXT.match(data):
        raise RefusedError
    return data.removeprefix(b"\xef\xbb\xbf").split(b"\n")


def number(text, largest, line, column):
    """A finite number of at most `largest`, as Python reads it; for float32 also one that does not become 0."""
    lost = 2.0**-150 if largest < LARGEST else 0.0
    if not NUMBER.fullmatch(text) or abs(float(text)) > largest or 0 < abs(float(text)) <= lost:
        raise RefusedError(line, column)
    return float(text)


def label_number(text, line, column):
    value = number(text, LARGEST, line, column)
    digits = text.lstrip(b"+-").lstrip(b"0")
    if INTEGER.fullmatch(text) and digits and int(digits) != abs(value):
        raise RefusedError(line, column)  # an integer that float64 rounds
    return value


def letor(data, n_features=None, missing=None, zero_based=None, largest=LARGEST):
    """`label qid:ID index:value … # comment`, blank lines and lines of a comment left out."""
    if zero_based is None and n_features is not None:
        zero_based = False
    read, has_ids = Rows(), None
    codes = [line.partition(b"#") for line in lines_of(data)]
    tokens = [[(m.start() + 1, m.group()) for m in re.finditer(rb"[^ \t\r\v\f]+", code)] for code, _, _ in codes]
    if zero_based is None:
        zero_based = any(_begins_with_zero(one) for one in tokens)
    for i, words in enumerate(tokens, 1):
        if not words:
            continue
        column, word = words.pop(0)
        read.y.append(label_number(word, i, column))
        own = words[0] if words and words[0][1].startswith(b"qid:") else None
        if own is not None:
            glued = not words[1:] and codes[i - 1][1] and codes[i - 1][0].endswith(own[1])
            if has_ids is False:
                raise RefusedError(i, own[0])
            read.ids.append(query_id(words.pop(0)[1][4:], glued, i, own[0]))
        try:
            row = features(words, i, not zero_based, n_features, missing, largest)
        except RefusedError as fault:
            # a line without an id among lines with one is refused as such where all its tokens can be read
            raise RefusedError(i, None if has_ids and own is None else fault.column) from None
        if own is None:
            if has_ids:
                raise RefusedError(i, column)
            read.ids.append("0")
        has_ids = own is not None
        read.rows.append(row)
        read.comments.append(codes[i - 1][2].strip().decode(errors="backslashreplace"))
    if not read.rows:
        raise RefusedError
    read.base = 0 if zero_based else 1
    widest = max((max(row, default=-1) for row in read.rows), default=-1) + 1 - read.base
    read.n_features = n_features if n_features is not None else max(widest, 0)
    return read


def _begins_with_zero(words):
    """Whether the first feature of the line has the index 0 (it cannot come later: indices ascend)."""
    after = 2 if len(words) > 1 and words[1][1].startswith(b"qid:") else 1
    return len(words) > after and bool(re.match(rb"0+:", words[after][1]))


def query_id(name, glued_to_comment, line, column):
    if not name or glued_to_comment or any(byte <= 32 or byte == 127 for byte in name):
        raise RefusedError(line, column)
    try:
        text = name.decode()
    except UnicodeDecodeError:
        raise RefusedError(line, column) from None
    if any(letter.isspace() for letter in text):
        raise RefusedError(line, column)
    return text


def features(words, line, counts_from, n_features, missing, largest):
    row, previous = {}, -1
    for column, word in words:
        index, colon, value = word.partition(b":")
        if not colon or not re.fullmatch(rb"[0-9]{1,18}", index) or int(index) > LARGEST_INDEX:
            raise RefusedError(line, column)
        place = int(index)
        beyond = n_features is not None and place - counts_from >= n_features
        if place <= previous or place < counts_from or beyond:
            raise RefusedError(line, column)
        if re.fullmatch(rb"(?i)[+-]?(nan|na|null)", value) and missing is not None:
            row[place] = missing
        else:
            row[place] = number(value, largest, line, column)
        previous = place
    return row


def table(data, separator, missing=None, comments=False):
    """A header, then rows; a cell that begins with a quote may hold separators and line ends up to the closing one."""
    header, separator = header_of(data, separator)
    line, row = next(_table_rows(data, separator), (1, b""))
    if row and not _is_text(row):
        raise RefusedError(line)
    if len(set(header)) < len(header) or "label" not in header or "qid" not in header:
        raise RefusedError
    if any(not name.strip() for name in header):
        raise RefusedError
    read = Rows()
    for i, line in list(_table_rows(data, separator))[1:]:
        if not line.strip(b" \r"):
            continue
        found = cells(line, separator.encode(), i)
        if len(found) != len(header):
            _first_bad(found[: len(header)], header, missing, i)
            raise RefusedError(i)
        values = _first_bad(found, header, missing, i)
        read.y.append(values.pop("label"))
        read.ids.append(_text(values.pop("qid")))
        read.documents += [_text(values.pop("docid"))] if "docid" in header else []
        read.weights += [values.pop("sample_weight")] if "sample_weight" in header else []
        remark = _text(values.pop("comment", b""))
        read.comments.append(remark if comments else "")
        read.rows.append(list(values.values()))
    if not read.rows:
        raise RefusedError
    read.n_features = len(set(header) - set(BESIDES))
    return read


def _table_rows(data, separator):
    """(number of its first line, row), from the header on; a quoted cell that ends as cells do may hold line ends."""
    before = _before_the_header(data)
    at, line = sum(len(row) + 1 for row in before), len(before) + 1
    data, separator = data.removeprefix(b"\xef\xbb\xbf"), separator.encode()
    while at < len(data):
        begin, is_cell = at, True
        while at < len(data):
            closing = re.compile(rb'"((?:[^"]|"")*)"(?!")').match(data, at) if is_cell else None
            if closing and (data[closing.end() : closing.end() + 1] or b"\n") in (separator, b"\n", b"\r"):
                at = closing.end()
            if data[at : at + 1] == b"\n":
                break
            is_cell = data[at : at + 1] == separator
            at += 1
        yield line, data[begin:at]
        line += data[begin : at + 1].count(b"\n")
        at += 1


def _before_the_header(data):
    """Blank lines, and lines `sep=;`."""
    return list(takewhile(lambda row: not row.strip(b" \r") or _separator_of(row), lines_of(data)))


def _separator_of(row):
    """The separator that a line `sep=;` names."""
    line = re.fullmatch(rb'sep=[,;\t|]|"sep=[,;\t|]"', row.strip(b" \r"))
    return line and line[0].strip(b'"')[-1:].decode()


def header_of(data, separator):
    """The names of the columns, and the first separator that shows a known column or, if none does, the most names."""
    named = [_separator_of(row) for row in _before_the_header(data) if row.strip(b" \r")]
    best, most = named[-1] if named else separator, 1
    for one in named[-1:] or (separator, ",", ";", "\t"):
        try:
            header = _header_by(data, one)
        except RefusedError:
            continue
        if set(BESIDES) & set(header):
            return header, one
        if len(header) > most:
            best, most = one, len(header)
    return _header_by(data, best), best


def _header_by(data, separator):
    line, row = next(_table_rows(data, separator), (1, b""))
    if any(b"\r" in cell and not re.fullmatch(rb'"([^"]|"")*"', cell) for cell in cells(row, separator.encode(), line)):
        raise RefusedError(line)
    first = row.decode(errors="backslashreplace").removesuffix("\r")
    try:
        return next(csv.reader([first], delimiter=separator, strict=True), [])
    except csv.Error:
        raise RefusedError(line) from None


def _first_bad(found, header, missing, line):
    """{column: value}; the first cell that cannot be read refuses the line."""
    values = {}
    for name, cell in zip(header, found, strict=False):
        if name == "comment":
            values[name] = cell
        elif name in ("qid", "docid"):
            if not _is_text(cell):
                raise RefusedError(line)
            values[name] = cell
        else:
            values[name] = cell_number(cell, None if name in BESIDES else missing, name == "label", line)
            if name == "sample_weight" and values[name] < 0:
                raise RefusedError(line)
    return values


def cells(line, separator, number_of_line):
    """The cells of a line, quotes and all; a carriage return before the line end belongs to it."""
    found, at = [], 0
    while True:
        begin = at
        if line[at : at + 1] == b'"':
            closing = re.compile(rb'"((?:[^"]|"")*)"(?!")').match(line, at)
            if not closing:
                raise RefusedError(number_of_line)
            at = closing.end()
        stop = line.find(separator, at)
        found.append(line[begin : stop if stop >= 0 else len(line)])
        if stop < 0:
            found[-1] = found[-1].removesuffix(b"\r")
            return found
        at = stop + 1


def cell_number(cell, missing, is_label, line):
    if len(cell) > 1 and cell[:1] == cell[-1:] == b'"':
        cell = cell[1:-1]
    cell = cell.strip(b" ")
    if re.fullmatch(rb"(?i)(na|nan|null|none)?", cell):
        if missing is None:
            raise RefusedError(line)
        return missing
    return label_number(cell, line, None) if is_label else number(cell, LARGEST, line, None)


def _is_text(cell):
    try:
        return bool(cell.decode())
    except UnicodeDecodeError:
        return False


def _text(cell):
    text = cell.decode(errors="backslashreplace")
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def trec(data, n_fields, value_at):
    """Lines of so many fields; (qid, docid) occurs once; the value is a finite number."""
    found = {}
    for i, line in enumerate(lines_of(data), 1):
        parts = [one for one in re.split(rb"[ \t\r\v\f]+", line) if one]
        if not parts:
            continue
        if len(parts) != n_fields or (parts[0], parts[2]) in found:
            raise RefusedError(i)
        found[parts[0], parts[2]] = label_number(parts[value_at], i, None)
    if not found:
        raise RefusedError
    return found

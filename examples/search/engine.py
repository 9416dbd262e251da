"""A search engine, tantivy, and the features that it knows of a document for a query.

The same features are defined for Elasticsearch and OpenSearch in requests/elasticsearch-feature-set.json, and for Solr
in requests/solr-features.json.
"""

import math
import re
from collections.abc import Sequence

from films import Film

try:
    import tantivy
    from tantivy import Occur, Query
except ModuleNotFoundError:
    raise SystemExit("this example needs the search engine tantivy: pip install tantivy") from None

FEATURES = ("text_bm25", "title_bm25", "body_bm25", "title_phrase", "all_words", "popularity", "year")


class Engine:
    def __init__(self, films: Sequence[Film]) -> None:
        self.index = tantivy.Index(_schema())
        writer = self.index.writer(num_threads=1)  # one segment: the same scores each time
        for film in films:
            text = f"{film.title} {film.body}"  # what copy_to (Elasticsearch) and copyField (Solr) make
            fields = {"title": film.title, "body": film.body, "text": text, "votes": film.votes, "year": film.year}
            writer.add_document(tantivy.Document(id=film.id, **fields))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, text: str, n: int) -> list[str]:
        """Ids of the best n documents by BM25, the best first: what a re-ranker is given."""
        return list(self._scores(self._match(text, "text"), n))

    def features(self, text: str, ids: Sequence[str]) -> dict[str, dict[str, float]]:
        """The features of documents by id; one that does not match a document is not in its dict."""
        if not ids:
            return {}
        queries = {
            "text_bm25": self._match(text, "text"),
            "title_bm25": self._match(text, "title"),
            "body_bm25": self._match(text, "body"),
            "title_phrase": Query.const_score_query(self._phrase(text, "title"), 1.0),
            "all_words": Query.const_score_query(self._match(text, "text", every_word=True), 1.0),
        }
        chosen = Query.const_score_query(Query.term_set_query(self.index.schema, "id", list(ids)), 0.0)
        values: dict[str, dict[str, float]] = {id: {} for id in ids}
        for name, query in queries.items():
            among = Query.boolean_query([(Occur.Must, chosen), (Occur.Must, query)])
            for id, score in self._scores(among, len(ids)).items():
                values[id][name] = score
        for _, address in self.searcher.search(chosen, len(ids)).hits:
            film = self.searcher.doc(address)
            values[film["id"][0]] |= {"popularity": math.log10(1 + film["votes"][0]), "year": float(film["year"][0])}
        return values

    def _scores(self, query: Query, n: int) -> dict[str, float]:
        hits = self.searcher.search(query, n).hits
        return {self.searcher.doc(address)["id"][0]: score for score, address in hits}

    def _match(self, text: str, field: str, every_word: bool = False) -> Query:
        return self.index.parse_query(" ".join(_words(text)), [field], conjunction_by_default=every_word)

    def _phrase(self, text: str, field: str) -> Query:
        return self.index.parse_query(f'"{" ".join(_words(text))}"', [field])


def _words(text: str) -> list[str]:
    """The words alone, in lower case: signs and AND, OR, NOT mean something to the parser of queries."""
    return re.findall(r"\w+", text.lower())


def _schema() -> tantivy.Schema:
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    for name in ("title", "body", "text"):
        schema.add_text_field(name, tokenizer_name="en_stem")
    for name in ("votes", "year"):
        schema.add_integer_field(name, stored=True)
    return schema.build()

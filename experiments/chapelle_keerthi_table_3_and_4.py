"""Training time and NDCG@10 of RankSVM on OHSUMED and TD2004, at one C for all folds and at one C a fold."""

from typing import Any

from experiments.chapelle_keerthi import HINGE, METHODS, TD2004, trained
from experiments.pages import Report, Table
from experiments.units import Unit

TITLE = "Chapelle and Keerthi, tables 3 and 4: training time and NDCG@10"
NEEDS = ("ohsumed",)
ROWS = {**METHODS, "rankwise, hinge": HINGE}
SETTINGS = {  # the C of the five folds: the best of figure 1, and those of table 2
    ("ohsumed", "table 3"): [1e-4] * 5,
    ("ohsumed", "table 4"): [0.01, 0.001, 0.0001, 0.6, 0.1],
    ("td2004", "table 3"): [1e-2] * 5,
    ("td2004", "table 4"): [0.05, 0.01, 4, 0.03, 0.9],
}
PAPER = {  # method: (seconds, NDCG@10) in the order of SETTINGS; the hinge's are SVMLight's
    "PRSVM": ((9.6, 0.454), (15.3, 0.452), (42.8, 0.311), (63.1, 0.309)),
    "PRSVM+": ((1.5, 0.454), (3.4, 0.452), (9.9, 0.311), (16.3, 0.309)),
    "rankwise, hinge": ((81_097, 0.454), (55_750, 0.442), (115_675, 0.308), (60_571, 0.308)),
}


def units(quick: bool) -> list[Unit]:
    return [
        Unit(f"{name} {table} {method}", trained, {"name": name, "options": options, "C": C}, limit=600)
        for (name, table), C in SETTINGS.items()
        for method, options in ROWS.items()
        if not quick or name == "ohsumed"
    ]


def report(found: dict[str, Any]) -> Report:
    rows = []
    for place, (name, table) in enumerate(SETTINGS):
        for method in ROWS:
            ours = found.get(f"{name} {table} {method}")
            if ours is not None:
                seconds, ndcg = PAPER[method][place] if method in PAPER else (None, None)
                synthetic = name == "td2004"
                rows.append(
                    {
                        "data": TD2004 if synthetic else "OHSUMED",
                        "C of": table,
                        "method": method,
                        "NDCG@10": ours["ndcg"],
                        "NDCG@10, paper": None if synthetic else ndcg,
                        "seconds": ours["seconds"],
                        "seconds, paper": seconds,
                    }
                )
    formats = {"NDCG@10": ".4f", "NDCG@10, paper": ".3f", "seconds": ".2f", "seconds, paper": ",.1f"}
    caption = (
        "Seconds (of one core) are for the training of all five folds; NDCG@10 in LETOR's own way (gain 2^label - 1, "
        "discount 1 / log2(max(2, place))) is the mean over the five test parts. C of table 3 is 1e-4 (TD2004: 1e-2), "
        "that of table 4 is the paper's table 2, a value a fold. The paper's figures beside the hinge are SVMLight's. "
        "OHSUMED is real, the data of TD2004's shape are synthetic."
    )
    claim = (
        "Trained to the end, RankSVM reaches an NDCG@10 of 0.454 on OHSUMED at C = 1e-4 and 0.452 at the C that were "
        "chosen by others; squared hinge and hinge differ little; the pairs need not be listed, and the training that "
        "does not list them takes a fraction of the time."
    )
    why = (
        "NDCG@10 agrees to the third digit on OHSUMED. TD2004 is not available: ours is synthetic, with its numbers "
        "of queries, documents, features and relevant documents, so only its times can be compared. The paper's "
        "times are Matlab's and those of a processor of 2009; SVMLight's iterations cut at 5,000 are not repeated."
    )
    return Report(claim, rows, [Table(caption, rows, formats)], why)

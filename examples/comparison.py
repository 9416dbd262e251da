"""Draw the figure of docs/comparing.md: python examples/comparison.py --data FOLDER --out FILE

RankSVM against the best single feature on the test part of MQ2008's fold 1, which docs/data.md says where to get.
Needs matplotlib.
"""

import argparse
from pathlib import Path

from rankwise import RankSVM, evaluate, read_letor
from rankwise.report import QueryDifferenceDisplay


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("differences.png"))
    options = parser.parse_args()
    parts = [options.data / "mq2008" / f"S{part}.txt.xz" for part in (1, 2, 3, 5)]
    train, test = read_letor(parts[:3], dense=True), read_letor(parts[3], dense=True)
    scores = RankSVM(C=0.03).fit(train.X, train.y, train.qid).predict(test.X)
    alone = [evaluate(train.y, train.X[:, i], train.qid)["ndcg@10"] for i in range(train.n_features)]
    best = max(range(train.n_features), key=alone.__getitem__)
    names = ("RankSVM", f"feature {best + 1}")
    display = QueryDifferenceDisplay.from_predictions(test.y, scores, test.X[:, best], test.qid, names=names)
    display.save(options.out, dpi=130)


if __name__ == "__main__":
    main()

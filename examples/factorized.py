"""Factorized RankSVM against RankSVM on LETOR data, beside tables 2 to 4 and figure 1 of Zhang et al. (2015).

    python examples/factorized.py --data FOLDER [--quick] [--picture spectrum.svg]

FOLDER holds ohsumed/, mq2007/ and mq2008/, each with S1.txt.xz … S5.txt.xz. Five folds: three parts train, one chooses
parameters by MAP (and stops the factorised descent), one tests. Both rankers have the hinge, as in the paper. --quick
takes one fold of each set.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import stats

from rankwise import RankSVM, evaluate, read_letor
from rankwise.analysis import dual_spectrum
from rankwise.estimators.factorized import FactorizedRankSVM

# What the paper prints: MAP, NDCG@1, NDCG@3, NDCG@5 of RankSVM and of Factorized RankSVM.
PAPER = {
    "ohsumed": ((0.4427, 0.5289, 0.4553, 0.4392), (0.4463, 0.5507, 0.4798, 0.4546)),
    "mq2007": ((0.4442, 0.3821, 0.3796, 0.3890), (0.4483, 0.3824, 0.3900, 0.3940)),
    "mq2008": ((0.4713, 0.3686, 0.4277, 0.4730), (0.4714, 0.3660, 0.4289, 0.4731)),
}
DIALECT = {"ohsumed": "letor", "mq2007": "letor4", "mq2008": "letor4"}  # as the sets' own evaluation scripts
C_PLAIN = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # six settings to choose from for either ranker
C_FACTORISED, COMPONENTS = (1e-4, 1e-2, 1.0), (2, 10)


def measures(name):
    return ["map", *(f"ndcg@{k}:{DIALECT[name]}" for k in (1, 3, 5))]


def validated(models, train, valid):
    """The model of the best MAP on the validation queries."""
    found = []
    for model in models:
        extra = {"validation": (valid.X, valid.y, valid.qid)} if isinstance(model, FactorizedRankSVM) else {}
        model.fit(train.X, train.y, train.qid, **extra)
        found.append(evaluate(valid.y, model.predict(valid.X), valid.qid, "map")["map"])
    return models[int(np.argmax(found))]


def one_fold(folder, fold, name):
    """For each test query and measure, the values of both rankers: arrays of shape (measures, queries)."""
    parts = [folder / name / f"S{(fold + k - 1) % 5 + 1}.txt.xz" for k in range(5)]
    train, valid, test = (read_letor(paths, dense=True) for paths in (parts[:3], parts[3:4], parts[4:]))
    plain = [RankSVM(C=C, loss="hinge") for C in C_PLAIN]
    factorised = [
        FactorizedRankSVM(K, C, measure="map", n_iter_no_change=30, max_iter=100, random_state=0)
        for C in C_FACTORISED
        for K in COMPONENTS
    ]
    tables = []
    for models in (plain, factorised):
        best = validated(models, train, valid)
        found = evaluate(test.y, best.predict(test.X), test.qid, measures(name))
        tables.append(np.array(list(found.per_query.values())))
    return tables


def p_value(differences):
    """Of the mean of paired differences, by flipping their signs at random."""
    if not differences.any():
        return 1.0
    options = {"permutation_type": "samples", "n_resamples": 9999, "rng": np.random.default_rng(0)}
    return stats.permutation_test((differences,), np.mean, **options).pvalue


def compare(folder, name, folds):
    """A row a measure: both means over the folds, both of the paper, and the p-value over all test queries."""
    tables = [one_fold(folder, fold, name) for fold in folds]
    plain, factorised = (np.mean([np.nanmean(table[k], axis=1) for table in tables], axis=0) for k in (0, 1))
    rows = []
    for m, measure in enumerate(measures(name)):
        apart = np.concatenate([table[1][m] - table[0][m] for table in tables])
        p = p_value(apart[~np.isnan(apart)])
        rows.append((measure, plain[m], factorised[m], PAPER[name][0][m], PAPER[name][1][m], p))
    return rows


def verdict(ours, papers, p):
    if p >= 0.05:
        return "no difference" if papers > 0 else "no difference, nor in the paper"
    return "holds" if (ours > 0) == (papers > 0) else "the other way round"


def show_comparison(folder, folds):
    for name in PAPER:
        began = time.perf_counter()
        rows = compare(folder, name, folds)
        print(f"\n{name}, {len(folds)} folds ({time.perf_counter() - began:.0f} s)")
        print(
            "measure           RankSVM  factorised     gain       p    paper: RankSVM  factorised     gain   the gain"
        )
        for measure, a, b, paper_a, paper_b, p in rows:
            ours, papers = b - a, paper_b - paper_a
            print(
                f"{measure:<16} {a:8.4f}    {b:8.4f}  {ours:+.4f}  {p:.4f}         {paper_a:8.4f}    {paper_b:8.4f}"
                f"  {papers:+.4f}   {verdict(ours, papers, p)}",
                flush=True,
            )


def show_spectrum(folder, picture):
    train = read_letor([folder / "ohsumed" / f"S{k}.txt.xz" for k in (1, 2, 3)], dense=True)
    ranker = RankSVM(C=0.01, loss="hinge", solver="dual", random_state=0).fit(train.X, train.y, train.qid)
    spectrum = dual_spectrum(ranker.dual_coef_, train.qid)
    print("\nOHSUMED, fold 1: queries by the share of dimensions they need, 0-10 %, 10-20 %, …, 90-100 %")
    for among in ("documents", "block"):
        for energy in (0.9, 1.0):
            counts = " ".join(f"{n:3d}" for n in spectrum.histogram(energy, among=among))
            print(f"{energy:4.0%} of the energy, share of {among:<9}  {counts}")
    bound = np.mean(ranker.dual_coef_.data > 0.999 * 0.01)
    print(f"{bound:.1%} of the positive alphas are C: the matrix is nearly constant where it is not 0.")
    if picture:
        spectrum.plot(picture, among="block")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of ohsumed/, mq2007/ and mq2008/")
    parser.add_argument("--quick", action="store_true", help="one fold only")
    parser.add_argument("--picture", type=Path, help="where to write figure 1")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="FactorizedRankSVM did not converge")  # 100 iterations are the budget
    show_spectrum(options.data, options.picture)
    show_comparison(options.data, range(1, 2 if options.quick else 6))


if __name__ == "__main__":
    main()

"""Draw how the solvers approach the optimum: python examples/convergence.py [--data FOLDER] [--out FILE]

MQ2008 fold 1 if FOLDER contains it, else synthetic data of the same shape; squared hinge, C = 1. Needs matplotlib.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from rankwise import RankSVM, make_ranking, read_letor

FLOOR = 1e-11  # below it, differences are rounding errors
SOLVERS = ("newton", "trust-region-sampled", "trust-region", "bundle", "bmrm", "sgd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, default=Path("convergence.png"))
    options = parser.parse_args()
    if (options.data / "mq2008").is_dir():
        data = read_letor([options.data / "mq2008" / f"S{part}.txt.xz" for part in (1, 2, 3)], dense=True)
        name = "MQ2008 fold 1"
    else:
        data = make_ranking(471, 20, 46, n_levels=3, random_state=0)
        name = "synthetic data"
    warnings.simplefilter("ignore")  # not every solver converges within its time
    paths = {solver: path(data, solver) for solver in SOLVERS}
    best = min(step.value for steps in paths.values() for step in steps)
    draw(paths, best, f"RankSVM, squared hinge, C = 1, {name}: {len(data):,} documents", options.out)


def path(data, solver):
    """The history of the faster of two runs, up to ten seconds each."""
    runs = []
    for _ in range(2):
        ranker = RankSVM(
            C=1.0, solver=solver, tol=1e-10, max_iter=3000, random_state=0, callback=lambda s: s.seconds > 10
        )
        runs.append(ranker.fit(data.X, data.y, data.qid).result_.history)
    return min(runs, key=lambda steps: steps[-1].seconds)


def draw(paths, best, title, out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.2), layout="constrained")
    for solver, steps in paths.items():
        gap = np.array([step.value / best - 1 for step in steps])
        shown = slice(None, int(np.argmax(gap < FLOOR)) or None)
        seconds, gap = np.array([step.seconds for step in steps])[shown], gap[shown]
        marker = "o" if seconds.size < 60 else None
        line = axes.loglog(seconds, gap, marker=marker, markersize=3.5, linewidth=1.6)[0]
        axes.annotate(f"  {solver}", (seconds[-1], gap[-1]), color=line.get_color(), fontsize=9, va="center")
    axes.set(xlabel="seconds", ylabel="objective / optimum - 1", title=title)
    axes.margins(x=0.12)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=110)
    print(f"{out} written")


if __name__ == "__main__":
    main()

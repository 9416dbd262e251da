"""Figures of the pages about papers, clicks and factorised rankers are those of experiments/results."""

import re
from statistics import mean

from figures import EXPERIMENTS, cell, experiment, says, shown, span, two, value

FEW = ("MQ2007", "MQ2008")
MANY = ("MQ2007-list*", "MQ2008-list*")
PAIRS, NDCG = "pairwise-accuracy", "mean-ndcg:letor"
TREES = ("y-rbtree", "wTx-rbtree", "selectiontree", "y-avltree", "y-aatree")


def percent(share):
    return f"{100 * share:.2f} %"


def runs(name):
    """(data, log2 C, method, gap) -> seconds to the gap, or until the time limit, and whether the limit ended it."""
    paths = {}
    for row in experiment(name):
        key = row["data"], f"{float(row['log2 C']):.3g}", row["method"]
        paths.setdefault(key, []).append((float(row["seconds"]), float(row["relative function value"] or 0)))
    found = {}
    for row in shown(name):
        path = paths[row["data"], row["log2 C"], row["method"]]
        for gap in ("0.01", "0.0001"):
            ended = row[f"to {gap}"].startswith(">")
            reached = [seconds for seconds, left in path if not left > float(gap)]
            seconds = path[-1][0] if ended else reached[0]
            found[row["data"], row["log2 C"], row["method"], gap] = seconds, ended
    return found


def compared(name, slow, fast, **only):
    """How many times as long one method takes as another, where the limit ended neither."""
    times = runs(name)
    for (data, C, method, gap), (seconds, ended) in times.items():
        if method == slow and only.get("C", C) == C:
            other, stopped = times.get((data, C, fast, gap), (0, True))
            if not ended and not stopped:
                yield seconds / other


def ended(method):
    """How many runs of figures 5 and 6 the limit ended before 0.01 of the optimum, and of how many."""
    found = [
        stopped
        for name in ("lee_lin_figure_5", "lee_lin_figure_6")
        for (_, _, run, gap), (_, stopped) in runs(name).items()
        if run == method and gap == "0.01"
    ]
    return sum(found), len(found)


def more_than(data, slow, times):
    """By how much rankwise is faster at C = 100."""
    (seconds, stopped), (ours, _) = (times[data, "6.64", method, "0.0001"] for method in (slow, "rankwise"))
    return (
        f"more than {int(seconds / ours)} times (the time limit ended {slow})"
        if stopped
        else f"{seconds / ours:.0f} times"
    )


def lee_lin_quality():
    table = experiment("lee_lin_table_5")
    own = {(data, what): value(table, "rankwise's own", data, what) for data in FEW for what in (PAIRS, NDCG)}
    theirs = {key: value(table, "trust region, 1e-3", *key) for key in own}
    moved = {key: abs(theirs[key] - value(table, "optimum", *key)) for key in own}
    svr = [value(table, "L2-loss SVR", data, NDCG) for data in FEW]
    svr_pairs = [value(table, "L2-loss SVR", data, "pairwise accuracy") for data in FEW]
    stopped = [value(shown("lee_lin_table_5"), PAIRS, passes) for passes in ("50", "300", "1000")]
    farthest = max(value(table, "farthest off", "MQ2008", what) for what in (PAIRS, NDCG))
    yield f"prints {own['MQ2007', PAIRS]:.4f} (their table 5"
    yield f"prints {own['MQ2007', NDCG]:.4f} (theirs"
    yield f"| {own['MQ2007', NDCG]:.4f} and {percent(own['MQ2007', PAIRS])} |"
    yield (
        f"| {own['MQ2008', NDCG]:.4f} and {percent(own['MQ2008', PAIRS])}; with their solver and tolerance, which stop "
        f"before the optimum, {theirs['MQ2008', NDCG]:.4f} and {percent(theirs['MQ2008', PAIRS])} | "
        f"yes, within {farthest:.4f} |"
    )
    yield f"| {', '.join([*(f'{one:.4f}' for one in svr), *map(percent, svr_pairs)])}, at the C of its table 4 |"
    yield (
        f"| {percent(value(table, 'L1-loss SVR', 'MQ2007', 'pairwise accuracy'))} on MQ2007; on MQ2008 "
        f"{', '.join(map(percent, stopped[:2]))} and {percent(stopped[2])} after 50, 300 and 1,000 passes"
    )
    most = [max(moved[data, what] for what in (PAIRS, NDCG)) for data in FEW]
    yield f"| by up to {most[0]:.4f} on MQ2007 and {most[1]:.4f} on MQ2008 |"
    ends = {(row["data"], row["method"]): row for row in experiment("lee_lin_figure_5")}  # the last of each run
    losses = [ends[data, loss] for data in FEW for loss in ("rankwise", "rankwise (L1)")]
    apart = [abs(float(a[what]) - float(b[what])) for a, b in (losses[:2], losses[2:]) for what in (PAIRS, NDCG)]
    yield f"| within {max(apart):.4f} on the real sets |"


def lee_lin_forests():
    forests = [
        [
            value(experiment(f"lee_lin_table_{i}"), "NDCG", data, model)
            for data in FEW
            for model in ("random forests", "GBDT")
        ]
        for i in (6, 7)
    ]
    few, many = ([f"{one:.4f}" for one in table] for table in forests)
    yield f"| {few[0]} and {few[1]}, {few[2]} and {few[3]} |"
    yield f"| {many[0]}, {many[2]}; {many[1]}, {many[3]} |"
    sparse = experiment("lee_lin_table_9")
    early, near = (
        [
            two(value(sparse, "seconds", data, "random forests") / value(sparse, "seconds", data, model))
            for data in dict.fromkeys(row["data"] for row in sparse)
        ]
        for model in ("linear RankSVM, stopped by its gradient as in the paper", "linear RankSVM")
    )
    yield (
        f"| scikit-learn's forests, which support sparse data, take {early[0]} and {early[1]} times as long as a "
        f"RankSVM that is stopped by its gradient, as in the paper; {near[0]} and {near[1]} times as long as one that"
    )


def lee_lin_adjacent_levels():
    partial = experiment("lee_lin_table_10")
    strengths = [[cell(partial, "log2 C", data, pairs) for data in MANY] for pairs in ("of adjacent levels", "all")]
    lower = [value(partial, PAIRS, data, "all") - value(partial, PAIRS, data, "of adjacent levels") for data in MANY]
    adjacent, every = (" and ".join(dict.fromkeys(f"2^{one}" for one in both)) for both in strengths)
    times = [[value(partial, "seconds", data, pairs) for data in MANY] for pairs in ("of adjacent levels", "all")]
    longer = " and ".join(two(one / other) for one, other in zip(*times, strict=True))
    yield f"| {adjacent} against {every}, {longer} times the time, {lower[0]:.4f} and {lower[1]:.4f} lower"


def lee_lin_trees():
    until = shown("lee_lin_figure_4")
    trees = {
        data: [float(cell(until, f"{data} to 0.1", tree)) for tree in TREES]
        for data in ("MSLR 30k*", "Yahoo set 1*", *MANY)
    }
    factor = max(max(times) / min(times) for times in trees.values())
    slower = [float(cell(until, f"{data} to 0.1", "direct-count")) / one for data in MANY for one in trees[data]]
    yield (
        f"| to 0.1 of the optimum, trees are within a factor of {two(factor)} of each other; direct counting is the "
        f"fastest of the paper's with 5 levels, and {span(slower)} times slower than the trees with a thousand"
    )
    exact = {(row["scheme"], name): row[name] for row in until for name in row if name.endswith("to 0.001")}
    slow = {key for key, seconds in exact.items() if seconds.startswith(">")}
    assert slow == {("direct-count", f"{data} to 0.001") for data in MANY}, "figure 4 needs other words"
    yield (
        f"to 0.001 the time limit ended {len(slow)} of {len(exact)} runs, both of direct counting with a thousand "
        "levels |"
    )


def lee_lin_solvers():
    yield f"| PRSVM+ is {span(list(compared('lee_lin_figure_5', 'Tree-TRON', 'PRSVM+')))} times faster here"
    times = runs("lee_lin_figure_6")
    tron, plus = (
        [times[data, C, method, "0.01"] for data, C in zip(MANY, ("-12", "-14"), strict=True)]
        for method in ("Tree-TRON", "PRSVM+")
    )
    assert not any(stopped for _, stopped in tron), "figure 6 needs other words"
    after = [
        f"after more than {two(seconds)} s (the time limit)" if stopped else f"after {two(seconds)} s"
        for seconds, stopped in plus
    ]
    longer = [
        f"{'more than ' * stopped}{two(seconds / by)} times"
        for (seconds, stopped), (by, _) in zip(plus, tron, strict=True)
    ]
    yield (
        f"| Tree-TRON is within 0.01 of the optimum after {' and '.join(two(seconds) for seconds, _ in tron)} s, "
        f"PRSVM+ {' and '.join(after)}: {' and '.join(longer)} as long (synthetic data)"
    )
    planes, of = ended("TreeRankSVM (L1)")
    bundle, tron = ended("bundle with line search (L1)"), ended("Tree-TRON")[0]
    small = [
        span(list(compared("lee_lin_figure_7", "TreeRankSVM (L1)", one, C="-13.3"))) for one in ("Tree-TRON", "PRSVM+")
    ]
    times = runs("lee_lin_figure_7")
    many = [
        stopped for (data, C, method, _), (_, stopped) in times.items() if data in MANY and method == "TreeRankSVM (L1)"
    ]
    assert all(many), "figure 7 needs other words"
    yield (
        f"| in figures 5 and 6 the time limit ended {planes} of their {of} runs before 0.01 of the optimum, "
        f"{bundle[0]} of {bundle[1]} with a line search, and {tron or 'none'} of Tree-TRON's; at C = 1e-4 (figure 7), "
        f"on the three sets with few levels, they take {small[0]} times as long as Tree-TRON and {small[1]} times as "
        "long as PRSVM+; on the two with many (synthetic) the limit ended them"
    )
    plus, tron = (" and ".join(more_than(data, slow, times) for data in FEW) for slow in ("PRSVM+", "Tree-TRON"))
    yield f"is {plus} faster than PRSVM+ on MQ2007 and MQ2008 at C = 100, and {tron} faster than Tree-TRON"


def chapelle_keerthi():
    table = experiment("chapelle_keerthi_table_3_and_4")
    three, four = (
        [value(table, "NDCG@10", "OHSUMED", at, method) for method in ("rankwise", "rankwise, hinge")]
        for at in ("table 3", "table 4")
    )
    yield f"| {three[0]:.4f} | yes |"
    yield f"| {four[0]:.4f} | yes |"
    yield f"| {three[1]:.4f} and {four[1]:.4f} | yes |"
    real, synthetic = (
        "{} s against {} s, rankwise {} s".format(
            *(two(value(table, "seconds", data, "table 3", one)) for one in ("PRSVM+", "PRSVM", "rankwise"))
        )
        for data in ("OHSUMED", "TD2004's shape (synthetic)")
    )
    yield f"| {real} (one core, five folds); on synthetic data of TD2004's shape {synthetic} |"
    figure = experiment("chapelle_keerthi_figure_1")
    by_C = [row for row in figure if row["data"] == "OHSUMED"]
    best = max(by_C, key=lambda row: float(row["NDCG@10"]))
    assert (len(by_C), float(best["C"])) == (9, 1e-4), "figure 1 needs other words"
    (*theirs, ours), (*others, other) = (
        [float(every[-1][one]) / float(every[0][one]) for one in ("PRSVM, s", "PRSVM+, s", "rankwise, s")]
        for every in (by_C, figure[len(by_C) :])
    )
    yield (
        f"| {span(theirs)} times from 1e-6 to 100 with their methods on OHSUMED, {two(ours)} times with rankwise's "
        f"explicit Hessian; on synthetic data of TD2004's shape {span(others)} and {two(other)} times, from 1e-6 to 1 |"
    )
    by_n = experiment("chapelle_keerthi_figure_3")
    methods = ("PRSVM, s", "PRSVM+, s", "rankwise, s", "cutting planes, hinge, s")
    first, last = ([value(by_n, method, "a9a", n) for method in methods] for n in ("1200", "4800"))
    listed, plus, ours, _ = (two(b / a) for a, b in zip(first, last, strict=True))
    yield f"of a9a listed pairs take {listed} times longer, sums by level {plus} times, rankwise {ours} times |"
    yield (
        f"more and more planes: {two(first[3])} to {two(last[3])} s where PRSVM+ takes {two(first[1])} to "
        f"{two(last[1])} s |"
    )


def airola():
    table = experiment("airola_figure_1")
    schemes = ("every pair, s", "level by level, s", "red-black trees, s")
    pairs, levels, trees = (two(value(table, one, "8000") / value(table, one, "1000")) for one in schemes)
    yield f"{pairs} times longer with listed pairs, {levels} times level by level, {trees} times with trees |"
    trees, ours = (two(value(table, "s", one)) for one in ("red-black trees", "rankwise"))
    yield f"| {trees} s with red-black trees, {ours} s with rankwise (synthetic data"


def pahikkala():
    table = experiment("pahikkala_table_1_to_3")
    rls, plain, svm, boost = (f"{value(table, one, 'MAP'):.3f}" for one in ("RankRLS", "RLS", "RankSVM", "RankBoost"))
    yield f"| {rls}, {svm}, {boost} | yes |"
    yield f"| {plain} | yes |"
    first, other = (f"{value(table, one, 'NDCG@1'):.3f}" for one in ("RankRLS", "RankSVM"))
    yield f"| {first} and {other}: a RankSVM trained to convergence"
    alone = value(table, "RankRLS", "MAP, label 2 only")
    yield f"with labels 1 and 2 ({rls}); label 2 alone gives {alone:.3f} |"
    parses = shown("pahikkala_table_8")
    yield f"| {cell(parses, 'tau-b', 'RankRLS')} against {cell(parses, 'tau-b', 'RLS')} on synthetic parses"


def zhang():
    tests = shown("zhang_table_2_to_4")
    for data in ("OHSUMED", *FEW):
        gains, ps = ([cell(tests, what, data, one) for one in ("MAP", "NDCG@5")] for what in ("gain", "p"))
        yield f"| MAP {gains[0]} (p = {ps[0]}), NDCG@5 {gains[1]} (p = {ps[1]})"
    holm = min(float(row["p, Holm"]) for row in tests if "p, Holm" in row)
    yield f"after Holm's correction for twelve tests, the smallest p is {holm:g} |"
    table = experiment("zhang_figure_1")
    block = {
        (row["data"], row["energy"]): list(map(int, list(row.values())[3:]))
        for row in table
        if row["share"].startswith("of the smaller")
    }
    all_of_it, most = block["OHSUMED", "100 %"], [block[data, "90 %"] for data in FEW]
    yield f"| {sum(all_of_it[8:])} of {sum(all_of_it)} queries do, by the block"
    yield f"{' and '.join(f'{one[-1]} of {sum(one)}' for one in most)} queries need over 90 %"
    bound = re.findall(r"([\d.]+)% on ", (EXPERIMENTS / "zhang_figure_1.md").read_text())
    yield f"{span(list(map(float, bound)))} % of the positive alphas are at their bound C"


def test_what_came_out_of_the_papers():
    parts = (
        lee_lin_quality,
        lee_lin_forests,
        lee_lin_adjacent_levels,
        lee_lin_trees,
        lee_lin_solvers,
        chapelle_keerthi,
        airola,
        pahikkala,
        zhang,
    )
    says("docs/papers.md", [one for part in parts for one in part()])


def test_rankrls_on_ohsumed():
    table = experiment("pahikkala_table_1_to_3")
    ours, plain = (f"{value(table, one, 'MAP'):.3f}" for one in ("RankRLS", "RLS"))
    sentence = f"RankRLS has a MAP of {ours} (the paper: 0.447), and plain RLS regression {plain} (0.450)"
    says("docs/rankers.md", [sentence])


def learning_from_clicks():
    columns = ("clicks as they are", "weighted, true propensities", "weighted, estimated propensities")
    table = [row for row in shown("clicks_figure_1") if "n_clicks" in row]
    for data in FEW:
        for n in ("1,000", "10,000", "100,000", "1,000,000"):
            # 100,000 clicks stand in both tables of the page
            row = next(
                row
                for row in table
                if (row["data"], row["n_clicks"], row["eta"], row["noise"]) == (data, n, "1", "0.1")
            )
            cells = [f"{float(row[one]):.3f}" for one in (*columns, "judgements", "production rankers")]
            first = n == "1,000"
            cells = [data if first else "", n, *cells[:3], *(cells[3:] if first else ["", ""])]
            yield " ".join(f"| {' | '.join(cells)} |".split())
    yield f"(eta 0: {value(table, 'clicks as they are', 'MQ2007', '0', '0.1'):.3f})"


def intervals_of_the_bias():
    table = shown("clicks_table_1")
    starts = {
        "usual": "100 queries, 10,000 lists: about 35 impressions per document and position",
        "eta 2": "the same, eta 2",
        "few queries": "20 queries, 5,000 lists",
        "position 6 rarely shown": "position 6 shown for a tenth of the queries",
        "many queries, few repeats": "1,000 queries, 10,000 lists: about 4 impressions per document and position",
        "the same, eta 2": "the same, eta 2",
    }
    raw = experiment("clicks_table_1")
    for setting, start in starts.items():
        held = [
            mean(float(row["held"]) for row in raw if (row["setting"], row["estimator"]) == (setting, one))
            for one in ("swap_bias", "harvested_bias", "em_bias")
        ]
        ratio = value(table, "estimate / truth", setting, "em_bias")
        yield f"| {start} | {' | '.join(f'{one:.2f}' for one in held)} | {ratio:.2f} |"


def failing_assumptions():
    starts = {
        "nothing": "nothing",
        "propensities of eta 0.5 given": "propensities fall too little: eta 0.5 given, 1 is true",
        "propensities of eta 2 given": "propensities fall too steeply: eta 2 given, 1 is true",
        "users stop after a relevant click": "users stop looking after a click on a relevant document; bias harvested",
        "users trust the top": "users trust the top, and click there on irrelevant documents too; bias harvested",
    }
    table = experiment("clicks_table_2")
    for fails, start in starts.items():
        gains = [
            mean(
                float(row["weighted"]) - float(row["naive"])
                for row in table
                if (row["data"], row["fails"]) == (data, fails)
            )
            for data in FEW
        ]
        yield f"| {start} | {gains[0]:+.3f} | {gains[1]:+.3f} |"


def test_learning_from_clicks():
    parts = (learning_from_clicks, intervals_of_the_bias, failing_assumptions)
    says("docs/clicks.md", [one for part in parts for one in part()])


def factorised():
    table = experiment("factorized_table_1")
    sets = ("OHSUMED", "MQ2007", "MQ2008")
    for setting in dict.fromkeys(row["setting"] for row in table):
        cells = [_gain(table, data, setting) for data in sets]
        yield " ".join(f"| {setting} | {' | '.join(cells)} |".split())
    pages = shown("factorized_table_1")
    alone = [cell(pages, "RankSVM", one, "K = 2", "MAP") for one in sets]
    yield f"| RankSVM, its MAP | {' | '.join(alone)} |"
    chosen = [row for row in pages if row.get("validation MAP")]
    alone = {row["data"]: float(row["validation MAP"]) for row in chosen if row["ranker"] == "RankSVM"}
    ahead = [float(row["validation MAP"]) - alone[row["data"]] for row in chosen if row["ranker"][-1].isdigit()]
    yield f"by {span(ahead, '{:.3f}'.format)} in MAP with L-BFGS: the best of all iterates is chosen there."
    made = [row for row in experiment("factorized_figure_1") if row["measure"] == "MAP"]

    def of(setting, column="gain", ranker="factorised"):
        found = [row for row in made if row["setting"] == setting and row["ranker"].startswith(ranker)]
        return [abs(float(row[column])) for row in found]

    three, ten, lost = map(of, ("leading directions, 3 queries", "leading directions", "trailing directions"))
    yield (
        f"({span(three, '{:.3f}'.format)} in MAP with three judged queries, {span(ten, '{:.3f}'.format)} with ten). "
        f"Where relevance depends on other directions, it loses {span(lost, '{:.2f}'.format)}."
    )
    ten, three = (mean(of(one, "between starts")) for one in ("leading directions", "leading directions, 3 queries"))
    yield f"({ten:.3f} in MAP with ten queries, {three:.3f} with three)"
    (ten,), (three,) = (of(one, ranker="RankSVM on") for one in ("leading directions", "leading directions, 3 queries"))
    yield f"gain with ten queries ({ten:.4f} in MAP) and half of it with three ({three:.4f})"


def _gain(table, data, setting):
    row = next((one for one in table if (one["data"], one["setting"], one["measure"]) == (data, setting, "MAP")), None)
    if row is None:
        return ""
    starts = [f"{float(row[one]):+.4f}" for one in ("lowest start", "highest start")]
    return f"{float(row['gain']):+.4f}" + (f" ({' to '.join(starts)})" if len(set(starts)) == 2 else "")


def test_factorised_ranksvm():
    says("docs/factorized.md", factorised())

"""Figures in README and docs are those of the results' files, written as the results' own pages write them."""

import itertools
import re
import tomllib

import pytest
from benchmarks import default_strength, report, sweep
from benchmarks.where import SCALE
from figures import BENCHMARKS, EXPERIMENTS, ROOT, ends, experiment, flat, measured_at, rows, says, span, two, value

from rankwise.solvers import automatic

TARGETS = tomllib.loads((ROOT / "benchmarks" / "targets.toml").read_text())["target"]
LIBLINEAR, PAIRS = "LIBLINEAR ranking extension", "LinearSVC on all pairs"
SPARSE = ("sparse-20k", "sparse-50k", "words-8k", "words-100k")
SETS = ("OHSUMED", "MQ2008", "MQ2007")


def ratios(than, *cases):
    """How many times as long another solver takes, by every target of these cases."""
    found = [one for one in TARGETS if one["case"] in cases and one.get("than") == than]
    return sorted(report.measured(BENCHMARKS, one)[0] for one in found)


def times(case, than):
    (ratio,) = ratios(than, case)
    return report.number(ratio)


def seconds(case, solver="rankwise RankSVM"):
    return report.number(report.at_goal(report.by_solver(BENCHMARKS, case)[solver])["value"])


def quality():
    """(data, method) -> the row over all folds."""
    return {(row["data"], row["method"]): row for row in experiment("good_enough_figure_1") if row["folds"]}


def trees(method):
    """The cells of one ensemble of trees: training time and NDCG@10."""
    rows = quality()
    spent, ours = (float(rows["MQ2007", one]["CPU s to train"]) for one in (method, "RankSVM"))
    differences = ", ".join(f"{float(rows[one, method]['difference']):+.4f} on {one}" for one in SETS)
    return f"{spent:.2g} CPU s on MQ2007, ours {ours:.2g}", differences


def cells():
    """The first cell of each row of the README's table -> the last two."""
    text = (ROOT / "README.md").read_text()
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {line[0]: tuple(line[2:]) for line in lines}


def test_the_table_of_the_readme():
    same = "0: same optimum"
    least, *_, most = map(report.number, ratios(LIBLINEAR, *SPARSE))
    liblinear = (
        f"{times('mq2007', LIBLINEAR)} x ours on MQ2007, {times('ohsumed', LIBLINEAR)} x on OHSUMED; "
        f"synthetic data: {times('small', LIBLINEAR)} x on 9,000 x 40, {least} to {most} x on sparse"
    )
    pairs = f"{times('mq2007-hinge', PAIRS)} x ours on MQ2007, {times('mq2008-hinge', PAIRS)} x on MQ2008 (hinge)"
    survival = f"{times('distinct', 'FastSurvivalSVM')} x ours on one synthetic query of 100,000 documents"
    expected = {
        "ranker": ("training time", "NDCG@10 minus ours"),
        "**rankwise**": (f"{seconds('mq2007')} s on MQ2007", "0"),
        "LIBLINEAR's ranking extension": (liblinear, same),
        "LinearSVC on listed pairs": (pairs, same),
        "FastSurvivalSVM (scikit-survival)": (survival, "0 if no labels are equal: same optimum"),
        "LightGBM lambdarank": trees("LightGBM lambdarank"),
        "XGBoost rank:ndcg": trees("XGBoost rank:ndcg"),
        "SVM^rank": ("not measured", "not measured"),
    }
    found = cells()
    assert list(found) == list(expected)
    wrong = [f"| {name} | … | {' | '.join(row)} |" for name, row in expected.items() if found[name] != row]
    if wrong:
        pytest.fail("\n".join(["README.md should say:", *wrong]), pytrace=False)


def test_what_the_readme_says_about_the_table():
    start = next(one for one in TARGETS if one.get("what") == "first fit by the command, kernels cached")
    says("README.md", [f"the {report.number(report.measured(BENCHMARKS, start)[0])} s that ours takes to start"])
    names = cases_of_the_readme()
    assert names > {"mq2007", *SPARSE}
    assert names == {row["case"] for row in BENCHMARKS if row["case"] in names}
    both = [row for (_, method), row in quality().items() if method in ("LightGBM lambdarank", "XGBoost rank:ndcg")]
    assert len(both) == 2 * len(SETS)
    assert all(float(row["difference, low"]) < 0 < float(row["difference, high"]) for row in both)


def test_what_the_readme_says_about_random_problems():
    ratios = {}  # by the rows of the problem
    for _, rows_of_problem in itertools.groupby(sweep.read(sweep.RESULT), key=lambda row: row["number"]):
        taken = {row["solver"]: row for row in rows_of_problem}
        if taken.get("liblinear", {}).get("seconds"):
            n_rows = int(taken["auto"]["problem"].split(" x ")[0])
            ratios[taken["liblinear"]["seconds"] / taken["auto"]["seconds"]] = n_rows
    ahead = sorted(ratio for ratio in ratios if ratio < 1)
    assert all(ratios[ratio] < 1000 for ratio in ahead[:5])
    says(
        "README.md",
        [
            f"takes {two(min(ratios))} to {two(max(ratios))} x our time, and is faster than ours in {len(ahead)} of "
            f"{len(ratios)}, most of all with a few hundred rows."
        ],
    )


def cases_of_the_readme():
    text = flat("README.md")
    return set(re.findall(r"`([a-z0-9-]+)`", text[text.index("python -m benchmarks NAME") :]))


def test_when_the_span_of_the_rows_is_used():
    text = flat("docs/theory.md")
    assert f"With more than {automatic.FEWER} times as many features as rows" in text
    assert f"if the decomposition takes no longer than {automatic.AT_ONCE} products" in text


@pytest.mark.parametrize(
    ("page", "results"),
    [
        ("good-enough", "good_enough_figure_1"),
        ("good-enough", "good_enough_figure_2"),
        ("factorized", "factorized_table_1"),
        ("factorized", "factorized_figure_1"),
    ],
)
def test_pages_quote_the_verdict_of_the_results(page, results):
    lines = (EXPERIMENTS / f"{results}.md").read_text().splitlines()
    verdict = [line for line in lines if line.startswith("- ")]
    assert verdict
    says(f"docs/{page}.md", verdict)


def test_times_of_a_path():
    path, alone = (seconds("path", f"26 fits, {how}") for how in ("warm-started", "each from zero"))
    one = seconds("path")
    says("docs/selection.md", [f"26 values of C take {path} s as a path and {alone} s as fits from zero"])
    says("docs/selection.md", [f"one fit takes {one} s"])


def default_C():
    cases = {}
    for row in default_strength.read(default_strength.RESULT):
        key = row["data"], row["scaling"], row["measure"]
        cases.setdefault(key, {})[row["normalize_pairs"], float(row["C"])] = float(row["value"])
    names = {
        "California housing by place": "California housing, one query per place",
        "bundled sample": "bundled sample (synthetic)",
        "synthetic, n < d": "synthetic, 30 queries, 500 features",
    }
    candidates = default_strength.DEFAULT, ("sum", 1.0), ("svm-rank", 0.1)
    for (data, scaling, measure), values in cases.items():
        tuned = max(values.values())
        if scaling == "raw":
            numbers = tuned, *(values[one] for one in candidates[:2])
            yield f"| {names.get(data, data)} | {measure} | {' | '.join(f'{one:.3f}' for one in numbers)} |"
    losses = [[max(values.values()) - values[one] for values in cases.values()] for one in candidates]
    worst = {}  # of each data set, from the one that loses most
    for _, case in sorted(zip(losses[0], cases, strict=True), reverse=True):
        worst.setdefault(case[0], case)
    few_rows, few_queries, housing, *_ = worst.values()
    assert few_rows == ("synthetic, n < d", "raw", "ndcg@10"), f"the default loses most elsewhere: {worst}"
    assert few_queries == ("synthetic, 20 queries", "query-zscore", "ndcg@10"), f"elsewhere: {worst}"
    assert housing == ("California housing", "query-minmax", "pairwise-accuracy"), f"elsewhere: {worst}"
    for case, start in ((few_queries, "queries standardised per query"), (housing, "as in California housing")):
        numbers = cases[case][candidates[0]], max(cases[case].values())
        yield "{} ({:.3f} instead of {:.3f})".format(start, *numbers)
    close = [sum(loss <= default_strength.CLOSE for loss in every) for every in losses]
    settings = len(next(iter(cases.values())))
    mean, plain, _ = (f"{sum(every) / len(every):.3f}" for every in losses)
    yield f"was within 0.01 of the best of these {settings} settings in {close[0]} cases, C = 1 in {close[1]}"
    yield f"It loses {mean} on average, the least of all {settings} settings; C = 1 loses {plain}."
    yield f'so does `normalize_pairs="svm-rank"` with C = 0.1 ({close[2]} of {len(cases)})'


def test_the_default_C():
    says("docs/selection.md", default_C())


def engines(table):
    names = {  # as they are called in the table of results, and what the page adds to their memory
        "NumPy (portable)": ('NumPy (`scheme="portable"`)', ""),
        "compiled": ("compiled, the default", ""),
        "chunks on disk": ("chunks on disk", ""),
        "Dask, 2 workers": ("Dask, 2 workers of 1 thread", ", both"),
        "torch, CPU": ("torch on the CPU", ""),
        "torch, GPU": ("torch on a GPU (H200)", ", of the GPU"),
    }
    for row in table:
        name, whose = names[row["engine"]]
        numbers = f"{float(row['objective']):.12g} | {two(float(row['seconds']))} | {float(row['peak MB']):,.0f} MB"
        yield f"| {name} | {numbers}{whose} | {row['rounds']} |".replace("|  |", "| |")


def device(table):
    def seconds(*cells):
        return two(value(table, "seconds", *cells))

    gap = "squared hinge to a relative gap of 1e-6"
    sampled = seconds("letor", f"{gap}, trust-region-sampled")
    share = value(table, "TB/s of X read twice", "letor") / value(table, "TB/s", "letor", "copy")
    labels = sum(value(table, "seconds", "labels", one) for one in ("graph", "product"))
    size, room = value(table, "GB of X", "largest"), value(table, "peak GiB", "largest")
    built, fitted = (two(value(table, f"{one} seconds", "largest")) for one in ("set-up", "fit"))
    yield f"5 levels, C = 8: set-up | {seconds('letor', 'set-up')} |"
    yield f'| the same, {gap}, `solver="trust-region-sampled"` | {sampled} |'
    yield f"| the same, hinge to a certified gap of 1e-4 | {seconds('letor', 'hinge to a certified gap of 1e-4')} |"
    product = seconds("letor", "Hessian product")
    yield f"| the same, one Hessian product: {100 * share:.0f} % of the device's copy bandwidth | {product} |"
    yield f"| one query of 10^7 distinct labels: graph and product | {two(labels)} |"
    documents = value(table, "rows", "largest") / 1e6
    yield f"| {documents:.0f} M × 136 ({size:.0f} GB, peak {room:.0f} GiB): set-up and fit | {built} + {fitted} |"


def rounds(table):
    ratios = [float(row["tasks"]) / float(row["messages"]) for row in table]
    yield f"Our tree is {span(ratios)} times faster per round, with 2 workers"
    for row in table:
        messages, tasks = (two(float(row[one])) for one in ("messages", "tasks"))
        yield f"| {int(row['partitions']):,} | {messages} s | {tasks} s |"


def cluster(table):
    """The rows of float32, by size and cores, with two columns per engine."""
    table = [row for row in table if row["dtype"] == "float32"]
    found = [one for one in ("threads", "disk", "workers") if any(row["engine"] == one for row in table)]
    speed, flops = (span([float(row[one]) for row in table]) for one in ("GB/s", "GFLOP/s"))
    latency = span([1000 * float(row["latency"]) for row in table if row["latency"]])
    (repeats,) = {int(row["repeats"]) for row in table}
    times = (
        "Each time is that of the second of two fits" if repeats == 2 else "Times are medians of fits after the first"
    )
    yield f"--dtype float32 --repeats {repeats}`"
    yield (
        f"The model's constants here are {speed} GB/s and {flops} GFLOP/s per core and {latency} ms per round. "
        f"{times}; for each size, the objectives agree in all digits."
    )
    yield f"| GB | documents | cores | {' | '.join(f'{one}: measured | model' for one in found)} | rounds | MB sent |"
    for size, cores in sorted({(float(row["GB"]), row["cores"]) for row in table}):
        same = {row["engine"]: row for row in table if (float(row["GB"]), row["cores"]) == (size, cores)}
        values = [float(row["objective"]) for row in same.values()]
        assert max(values) <= (1 + 1e-9) * min(values), f"objectives of {size:g} GB differ: {values}"
        times = [
            f"{two(float(same[one][what]))} s" if one in same else ""
            for one in found
            for what in ("seconds", "predicted")
        ]
        workers = same.get("workers")
        sent = [workers["rounds"], f"{float(workers['sent']) / 1e6:.1f}"] if workers else ["", ""]
        cells = [f"{size:g}", f"{int(next(iter(same.values()))['documents']):,}", cores, *times, *sent]
        yield " ".join(f"| {' | '.join(cells)} |".split())


@pytest.mark.parametrize("sentences", [engines, device, rounds, cluster])
def test_engines_and_their_costs(sentences):
    path = SCALE / f"{sentences.__name__}.csv"
    says("docs/scale.md", sentences(rows(path)))


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))])
def test_pages_say_at_their_end_where_figures_come_from(page):
    cases = {"README.md": cases_of_the_readme(), "docs/selection.md": {"path"}}.get(page, ())
    tables = {"docs/scale.md": SCALE.glob("*.csv"), "docs/selection.md": [default_strength.RESULT]}.get(page, ())
    ends(page, measured_at(page, cases, tables))

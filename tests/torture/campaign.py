"""Many cases, and the table of what came of them."""

import importlib.util
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .law import Fit, attempt, engines_for, judge, penalised_solvers_for, solvers_for
from .problems import Problem, make, penalised
from .regression import faults

REGRESSION = 10  # every so many cases RankRLS has its turn too
PENALISED = 10  # every so many cases the problem is also solved with signs or an elastic net
ELSEWHERE = 0.04  # of the fits are also done by torch, or from disk
SLOW = 5.0  # seconds, from which on a fit is listed
HAS_TORCH = importlib.util.find_spec("torch") is not None


@dataclass
class Tally:
    """What all cases so far came to; `others` solvers besides "auto" take part in each, drawn by its number."""

    others: int = 2
    cases: int = 0
    regressions: int = 0
    fits: Counter = field(default_factory=Counter)
    unconverged: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    warned: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)
    slow: list = field(default_factory=list)
    auto: list = field(default_factory=list)
    worst: float = 0.0  # of (value - best) / gap

    def add(self, seed: int) -> None:
        problem = self._solve(seed)
        if seed % PENALISED == 0:
            self._solve(seed, penalty=True)
        if seed % REGRESSION == 0 and self.others > 1 and problem.X.shape[0] < 1000:
            self.regressions += 1
            self.wrong += [f"{problem} | {one}" for one in faults(problem)]

    def _solve(self, seed: int, penalty: bool = False) -> Problem:
        problem, fits, wrong, best = run(seed, self.others, penalty)
        self.cases += 1
        self.wrong += [f"{problem} | {one}" for one in wrong]
        for fit in fits:
            self._count(problem, fit, best)
        return problem

    def _count(self, problem, fit, best) -> None:
        name = fit.solver if fit.engine == "numpy" else str(fit)
        self.fits[name] += 1
        self.warned.update(set(fit.warned))
        if fit.seconds > SLOW:
            self.slow.append(f"{problem} | {fit}: {fit.seconds:.1f} s")
        if fit.error:
            self.refused[fit.error.removeprefix("ValueError: ")[:40]] += 1
            return
        if not fit.result.converged:
            self.unconverged[name] += 1
            if fit.solver == "auto":
                self.auto.append(f"{problem} | {fit}: {fit.result.message}")
        if best is not None and fit.value is not None and fit.result.gap and fit.result.gap > 1e-15 * best:
            self.worst = max(self.worst, float((fit.value - best) / fit.result.gap))

    def merge(self, other: "Tally") -> None:
        for name, mine in vars(self).items():
            theirs = getattr(other, name)
            if name != "others":
                setattr(self, name, max(mine, theirs) if name == "worst" else mine + theirs)

    def table(self) -> str:
        lines = [
            f"{self.cases:,} cases, {sum(self.fits.values()):,} fits, {self.regressions:,} regressions by 4 solvers"
        ]
        lines.append(f"worst (value - best) / gap where the gap is not rounding: {self.worst:.6g}")
        for name, n in sorted(self.fits.items()):
            lines.append(f"  {name:40s}{n:9,d} fits {self.unconverged[name]:9,d} not converged")
        lines += [f"  refused: {sentence:40s}{n:9,d}" for sentence, n in self.refused.most_common()]
        lines += [f"  warned:  {category:40s}{n:9,d}" for category, n in self.warned.most_common()]
        for title, found in (("'auto' did not converge", self.auto), ("slow", self.slow), ("WRONG", self.wrong)):
            lines += [f"{title}: {len(found)}", *(f"  {one}" for one in found)]
        return "\n".join(lines)


def run(seed: int, others: int = 2, penalty: bool = False) -> tuple:
    """The problem of that number, with a penalty or not, its fits, what is wrong with them, and the least value."""
    problem, rng = make(seed), np.random.default_rng((seed, 1))
    known = solvers_for(problem.loss)
    if penalty:
        problem, known = penalised(problem), penalised_solvers_for(problem.loss)
    names = ["auto", *rng.choice(known, min(others, len(known)), replace=False).tolist()]
    fits: list[Fit] = []
    for name in names:
        fits.append(attempt(problem, name))
        elsewhere = engines_for(problem, name, HAS_TORCH)
        if elsewhere and rng.random() < ELSEWHERE:
            fits.append(attempt(problem, name, str(rng.choice(elsewhere))))
    wrong, best = judge(problem, fits)
    return problem, fits, wrong, best

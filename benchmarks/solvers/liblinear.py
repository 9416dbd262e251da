"""An external `train` with LIBLINEAR's options, such as its ranking extension's (-s 8): text in, model file out."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.process import ROOT
from benchmarks.solvers import Solver

PROGRAM = ROOT.parent / "shared" / "peers" / "liblinear-ranksvm" / "train"  # used if it is there
MOST_VALUES = 5e7  # writing more as text would take minutes
KINDS = {"squared_hinge": 8}


class ExternalSolver(Solver):
    """Its time is the training that it reports (a line `TRAIN SECONDS`); if it reports none, all but what a run takes
    which is content with the first point.
    """

    name = "LIBLINEAR ranking extension"
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)

    def skip(self, objective: Any) -> str | None:
        program = self.options.get("liblinear")
        if not program:
            return "no program given: --liblinear PATH"
        if not os.access(program, os.X_OK) and shutil.which(program) is None:
            return f"{program} cannot be run"
        if objective.X.size > MOST_VALUES:
            return f"too large to hand over as text: {objective.X.size:,} values"
        return super().skip(objective)

    def prepare(self) -> None:
        self.folder = TemporaryDirectory()

    def set_objective(self, objective: Any) -> None:
        self.objective = objective
        qid = np.zeros(len(objective.y), int) if objective.qid is None else objective.qid
        self.text = Path(self.folder.name) / "train.txt"
        write_text(self.text, objective.X, objective.y, qid)
        self._train("1e9")
        took, trained = self._train("1e9")
        self.overhead = took - (trained or 0.0)
        self.note = f"training alone; reading its text took {self.overhead:.2g} s besides"

    def run(self, tol: float) -> None:
        took, trained = self._train(repr(tol))
        if trained is not None:
            self.overhead = took - trained

    def _train(self, tol: str) -> tuple[float, float | None]:
        """Seconds of the process, and of its training if it reports them."""
        begin = time.perf_counter()
        self.w, trained = train(self.options["liblinear"], self.text, self.objective, tol)
        return time.perf_counter() - begin, trained


def write_text(path: Path, X: Any, y: Any, qid: Any) -> None:
    """The rows as LIBLINEAR reads them: it refuses a row without features."""
    from rankwise import write_letor

    write_letor(path, X, y, qid)
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{line if line.count(':') > 1 else line + ' 1:0'}\n" for line in lines))


def train(program: str, text: Path, problem: Any, tol: str, limit: float | None = None) -> tuple[Any, float | None]:
    """The weights of a problem whose rows are in the text, and the seconds of training if the program reports them."""
    model = text.with_name("model")
    command = [program, "-s", str(KINDS[problem.loss]), "-c", repr(problem.C), "-e", tol, str(text), str(model)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)
    reported = [float(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("TRAIN")]
    return read_weights(model, problem.X.shape[1]), reported[0] if reported else None


def read_weights(model: Path, n_features: int) -> Any:
    """One weight per line after a line `w`, without the last ones if they are 0."""
    lines = model.read_text().split("\n")
    w = np.array([float(line.split()[0]) for line in lines[lines.index("w") + 1 :] if line.strip()])
    return np.pad(w, (0, n_features - w.size))

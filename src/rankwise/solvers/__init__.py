"""Solvers: called with (objective, start, callback), most of them minimise anything with `.at(w)`."""

from rankwise.foundation.functions import Expansion, Function
from rankwise.solvers.automatic import WORTH_SAMPLING, cheapest
from rankwise.solvers.base import Callback, Result, Start, Step
from rankwise.solvers.choice import NEEDS, SOLVERS, Solver, make_solver, needs_of, register_solver
from rankwise.solvers.dual import DualCoordinateAscent
from rankwise.solvers.newton import Newton
from rankwise.solvers.smoothing import Smoothing
from rankwise.solvers.stochastic import Stochastic
from rankwise.solvers.trust_region import TrustRegion

__all__ = [
    "NEEDS",
    "SOLVERS",
    "WORTH_SAMPLING",
    "Callback",
    "DualCoordinateAscent",
    "Expansion",
    "Function",
    "Newton",
    "Result",
    "Smoothing",
    "Solver",
    "Start",
    "Step",
    "Stochastic",
    "TrustRegion",
    "cheapest",
    "make_solver",
    "needs_of",
    "register_solver",
]

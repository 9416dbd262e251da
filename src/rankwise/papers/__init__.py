"""Methods of the papers, registered through the public extension points (docs/extending.md).

No other module imports this package. The registries import it when a name is not a built-in one; each module is
imported when its name is first used.
"""

from rankwise.pairs.schemes import register_scheme
from rankwise.solvers import register_solver

register_scheme("explicit", "rankwise.papers.explicit:Engine")
register_scheme("by-level", "rankwise.papers.by_level:Engine")
register_scheme("red-black-tree", "rankwise.papers.trees:red_black")
register_scheme("score-red-black-tree", "rankwise.papers.trees:score_red_black")
register_scheme("selection-tree", "rankwise.papers.trees:selection")
register_scheme("avl-tree", "rankwise.papers.trees:avl")
register_scheme("aa-tree", "rankwise.papers.trees:aa")

register_solver("bundle", "rankwise.papers.bundle:Bundle")
register_solver("bmrm", "rankwise.papers.bundle:bmrm")
register_solver("newton-minres", "rankwise.papers.minres:newton_minres")

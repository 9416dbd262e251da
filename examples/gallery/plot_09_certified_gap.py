"""
How near is the optimum, and how do I know?
===========================================

After every step a solver knows a proven bound on its distance to the optimum. For the hinge the bound comes from a dual
solution. It holds whatever the data are, so a fit can stop as soon as it is small enough.
"""

import matplotlib.pyplot as plt

from rankwise import RankSVM, load_sample

train = load_sample("train")
exact = RankSVM(C=0.01, loss="hinge", tol=1e-9).fit(train).result_
tolerances = [10.0**-k for k in range(1, 8)]
results = [RankSVM(C=0.01, loss="hinge", tol=tol).fit(train).result_ for tol in tolerances]

# %%
# The true distance, which needs a far more exact fit, is always below the certified gap, and both are below the
# tolerance.

lower = exact.value - exact.gap
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.loglog(tolerances, [tol * exact.value for tol in tolerances], "k:", label="tolerance")
ax.loglog(tolerances, [one.gap for one in results], "o-", label="certified gap")
ax.loglog(tolerances, [one.value - lower for one in results], "s-", label="distance to the optimum")
ax.set(xlabel="tol", ylabel="objective minus optimum")
ax.invert_xaxis()
ax.legend()
assert all(one.value - exact.value <= one.gap for one in results)

"""
How do the weights change with C?
=================================

``c_path`` fits every C of a grid, each warm-started from the one before. Features whose weights keep their sign and
their order along the path are the ones to rely on.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import load_sample
from rankwise.model_selection import c_path

data = load_sample()
path = c_path(data.X, data.y, data.qid, Cs=2.0 ** np.arange(-18, 5))
print(path)

# %%
# Lines are named at their right end; the weights of small features are grey.

figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
large = np.argsort(-np.abs(path.coef[-1]))[:7]
for i, name in enumerate(data.names):
    ax.plot(path.Cs, path.coef[:, i], color="lightgrey" if i not in large else None)
    if i in large:
        ax.annotate(name, (path.Cs[-1], path.coef[-1, i]), xytext=(4, -3), textcoords="offset points", fontsize=8)
ax.set(xscale="log", xlabel="C", ylabel="weight", xlim=(None, path.Cs[-1] * 60))

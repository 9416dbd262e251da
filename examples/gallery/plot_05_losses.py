"""
How do the losses differ?
=========================

A loss says what a pair costs, as a function of its margin: by how much the better document is above the other one.
Every loss here is a short list of quadratic pieces, which is why one code computes them all.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import losses

margins = np.linspace(-1.5, 2.5, 401)
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for loss in (losses.hinge(), losses.squared_hinge(), losses.huber(0.5), losses.logistic(0.001), losses.squared()):
    ax.plot(margins, loss(margins), label=str(loss))
ax.axvline(1, color="grey", linewidth=0.8, linestyle=":")
ax.set(xlabel="margin of a pair", ylabel="loss", ylim=(0, 4))
ax.legend()

# %%
# Beyond a margin of 1 (dotted) the hinge, its square and Huber's loss are 0: such pairs are done. The squared loss also
# punishes pairs that are too far apart. A loss is a value that can be looked at:

for piece in losses.huber(0.5).pieces:
    print(piece)

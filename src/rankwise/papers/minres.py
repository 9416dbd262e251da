"""Newton's method with steps by MINRES, which needs Hessian products only (Chapelle and Keerthi's PRSVM)."""

from functools import partial

import numpy as np
from scipy.sparse.linalg import LinearOperator, minres

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import on_device_of, to_host
from rankwise.foundation.functions import Expansion
from rankwise.solvers.conjugate import ModelStep
from rankwise.solvers.newton import Newton

TOLERANCE = 1e-11


def minres_step(expansion: Expansion) -> ModelStep:
    """The minimum of the quadratic model."""
    gradient, size = to_host(expansion.gradient), expansion.gradient.shape[0]
    products = 0

    def multiply(v: Floats) -> Floats:
        nonlocal products
        products += 1
        product: Floats = to_host(expansion.hessian(on_device_of(expansion.gradient, v)))
        return product

    hessian = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
    # scipy's minres measures the residual against |∇²f| |step|, which is far larger than |∇f|
    step = -minres(hessian, gradient, rtol=TOLERANCE, maxiter=max(100, 2 * size))[0]
    predicted = -float(gradient @ step) - 0.5 * float(step @ multiply(step))
    left = gradient + hessian @ step
    attainable = predicted + 0.5 * float(left @ left)  # H ⪰ I, so this bounds the decrease that the model allows
    return ModelStep(on_device_of(expansion.gradient, step), 0.0, predicted, attainable, products)


newton_minres = partial(Newton, inner=minres_step)

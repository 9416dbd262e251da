"""From a kernel to features, so that every solver and loss of the linear case serves unchanged."""

from rankwise.kernels.kernel import Kernel
from rankwise.kernels.map import KernelMap

__all__ = ["Kernel", "KernelMap"]

"""From a kernel to features, so that every solver and loss of the linear case can be used unchanged."""

from rankwise.kernel_maps.kernel import Kernel
from rankwise.kernel_maps.map import KernelMap

__all__ = ["Kernel", "KernelMap"]

"""General tools, independent of ranking: arrays, devices, compiled kernels, threads, memory, texts."""

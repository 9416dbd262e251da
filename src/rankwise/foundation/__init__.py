"""What knows nothing of ranking: arrays, devices, compiled kernels, threads, memory, texts."""

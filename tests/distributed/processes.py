"""A cluster of real processes on loopback: a scheduler and workers that can be killed one by one."""

import os
import signal
import subprocess
import sys
import time

from distributed import Client

QUIET = {"DASK_LOGGING__DISTRIBUTED": "critical", "DASK_DISTRIBUTED__WORKER__DAEMON": "True"}


class Processes:
    def __init__(self, folder, n_workers=2, nanny=False):
        self.nanny = nanny
        self.file = folder / "scheduler.json"
        common = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.scheduler = _start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", *common)
        options = ["--host", "127.0.0.1", "--nthreads", "1", "--memory-limit", "0", "--local-directory", str(folder)]
        kind = "--nanny" if nanny else "--no-nanny"
        self.workers = [_start("dask_worker", kind, *options, *common) for _ in range(n_workers)]
        while not self.file.exists() or not self.file.read_text().endswith("}"):
            assert self.scheduler.poll() is None, "the scheduler did not start"
            time.sleep(0.02)
        self.client = Client(scheduler_file=str(self.file), timeout=30)
        self.client.wait_for_workers(n_workers, timeout=60)

    def kill_worker(self, which=0):
        """One of the workers that there are, at once; with a nanny another one will take its place."""
        pids = self.client.run(os.getpid)
        os.kill(pids[sorted(pids)[which]], signal.SIGKILL)

    def close(self):
        self.client.close(timeout=2)
        for process in (*self.workers, self.scheduler):
            process.send_signal(signal.SIGTERM if self.nanny else signal.SIGKILL)  # a nanny must end its worker
            process.wait()


def held(client):
    """How many results the workers hold and tasks they have, once they were told what is not wanted any more."""
    for _ in range(100):
        n = sum(client.run(lambda dask_worker: len(dask_worker.data)).values())
        n += sum(len(tasks) for tasks in client.processing().values())
        if not n:
            break
        time.sleep(0.05)
    return n


def _start(module, *arguments):
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
    return subprocess.Popen(command, env=os.environ | QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

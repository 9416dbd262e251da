import signal
import subprocess
import sys
import threading
import time

import pytest

from rankwise.foundation import threads
from rankwise.foundation.threads import one_blas_thread, share, thread_count


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_order(n_threads):
    assert share(lambda x: x * x, range(100), n_threads) == [x * x for x in range(100)]
    assert share(lambda x: x, [], n_threads) == []


def test_work_is_shared():
    meeting = threading.Barrier(2, timeout=20)  # passes only if two threads are at work at once
    share(lambda _: meeting.wait(), range(2), 2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_reaches_the_caller(n_threads):
    def work(x):
        if x == 7:
            raise KeyError("seven")

    with pytest.raises(KeyError, match="seven"):
        share(work, range(20), n_threads)


def test_thread_count():
    assert thread_count(3) == 3
    assert thread_count(None) == thread_count(-1) >= 1
    assert thread_count(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs is 0"):
        thread_count(0)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
def test_an_interrupt_waits_for_the_pieces_in_hand():
    caller, meeting, ended = threading.get_ident(), threading.Barrier(2, timeout=20), []

    def work(piece):
        meeting.wait()
        if threading.get_ident() != caller:
            time.sleep(0.1)
            signal.pthread_kill(caller, signal.SIGINT)  # it has nothing to do but to wait
            time.sleep(0.1)
            ended.append(piece)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            share(work, range(2), 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(ended) == 1


def test_an_interrupt_while_threads_start_waits_for_those_at_work(monkeypatch):
    started, ended, start = [], [], threads.start_new_thread

    def interrupted(*work):
        if started:
            raise KeyboardInterrupt
        started.append(start(*work))

    def work(piece):
        time.sleep(0.1)
        ended.append(piece)

    monkeypatch.setattr(threads, "start_new_thread", interrupted)
    with pytest.raises(KeyboardInterrupt):
        share(work, range(20), 5)
    at_work = len(ended)
    time.sleep(0.3)
    assert len(ended) == at_work <= 2


def test_a_limit_that_cannot_be_set_is_tried_again(monkeypatch):
    limits = []

    class Library:
        def get_num_threads(self):
            return 7

        def set_num_threads(self, number):
            limits.append(number)
            if len(limits) == 1:
                raise OSError("no such library")

    monkeypatch.setattr(threads, "_libraries", lambda: [Library()])
    with pytest.raises(OSError, match="no such library"), one_blas_thread():
        pass
    with one_blas_thread():
        assert limits == [1, 1]
    assert limits == [1, 1, 7]


def test_a_blas_that_is_loaded_later_is_limited_too():
    """In a new process SciPy's own BLAS is not loaded yet when the first limit is set."""
    code = """
from rankwise.foundation.threads import one_blas_thread
with one_blas_thread():
    import scipy.linalg
    from threadpoolctl import threadpool_info
    print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{1}\n"

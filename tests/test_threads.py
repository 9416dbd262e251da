import threading

import pytest

from rankwise.foundation.threads import share, thread_count


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

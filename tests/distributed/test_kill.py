"""Workers and schedulers that die in the middle of a fit. RANKWISE_KILLS=20 (`make test-kill`) kills more often."""

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from processes import held

import rankwise
from rankwise.distributed import DaskRankRLS, DaskRankSVM

TIMES = range(int(os.environ.get("RANKWISE_KILLS", "2")))
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*queries are in several partitions")]


@pytest.fixture(scope="module")
def data():
    return rankwise.make_ranking(n_queries=400, docs_per_query=25, n_features=20, random_state=0)


def arrays(data, rows=1000):
    return (da.from_array(one, chunks=(rows, *one.shape[1:])) for one in (data.X, data.y, data.qid))


@pytest.mark.parametrize("time_", TIMES)
@pytest.mark.parametrize("nanny", [False, True])
def test_a_worker_dies_between_rounds(processes, data, time_, nanny):
    cluster = processes(nanny=nanny)
    X, y, qid = arrays(data)
    whole = DaskRankSVM(C=0.1, tol=1e-9).fit(X, y, qid)
    seen = []

    def kill(step):
        if step.iteration == 1 + time_ % 3 and not seen:
            seen.append(step)
            cluster.kill_worker(time_ % 2)

    found = DaskRankSVM(C=0.1, tol=1e-9, callback=kill).fit(X, y, qid)
    assert seen
    assert (found.coef_ == whole.coef_).all()  # to the last bit
    assert found.n_iter_ == whole.n_iter_


@pytest.mark.parametrize("time_", TIMES)
@pytest.mark.filterwarnings("ignore:RankSVM did not converge")
def test_a_worker_dies_at_any_moment(processes, data, time_):
    """While data are read and partitions made, or in the middle of a round."""
    cluster = processes()
    X, y, qid = arrays(data)
    options = {"C": 0.1, "tol": 1e-9, "loss": "hinge", "solver": "bundle", "max_iter": 20}
    whole = DaskRankSVM(**options).fit(X, y, qid)
    random = np.random.default_rng(time_)
    timer = threading.Timer(random.uniform(0, 0.05 if time_ % 2 else 0.3), cluster.kill_worker)
    at_step = random.integers(10) if time_ % 2 else None
    if at_step is None:
        timer.start()
    found = DaskRankSVM(**options, callback=lambda step: step.iteration == at_step and timer.start()).fit(X, y, qid)
    timer.join()
    assert (found.coef_ == whole.coef_).all()
    assert found.n_iter_ == whole.n_iter_


def test_rankrls_outlives_a_worker_too(processes, data):
    cluster = processes()
    X, y, qid = arrays(data)
    whole = DaskRankRLS(solver="cg", tol=1e-14).fit(X, y, qid)
    timer = threading.Timer(0.2, cluster.kill_worker)
    timer.start()
    found = DaskRankRLS(solver="cg", tol=1e-14).fit(X, y, qid)
    timer.join()
    assert (found.coef_ == whole.coef_).all()


@pytest.mark.parametrize("time_", TIMES)
def test_the_scheduler_dies(processes, data, time_):
    cluster = processes()
    X, y, qid = arrays(data)

    def kill(step):
        if step.iteration == 1:
            cluster.scheduler.send_signal(signal.SIGKILL)

    began = time.perf_counter()
    with pytest.raises(ConnectionError, match=r"the Dask scheduler at tcp://127.0.0.1:\d+ no longer responds"):
        DaskRankSVM(C=0.1, callback=kill).fit(X, y, qid)
    assert time.perf_counter() - began < 60


def test_no_worker_is_left(processes, data, monkeypatch):
    monkeypatch.setattr("rankwise.distributed.partitions.PATIENCE", 2.0)
    cluster = processes(n_workers=1)
    X, y, qid = arrays(data)
    with pytest.raises(ConnectionError, match="no worker is left at the Dask scheduler tcp://"):
        DaskRankSVM(C=0.1, callback=lambda step: step.iteration == 1 and cluster.kill_worker()).fit(X, y, qid)


class EnoughError(Exception):
    pass


def test_a_fit_that_is_stopped_leaves_nothing(client, data):
    X, y, qid = arrays(data)

    def stop(step):
        raise EnoughError

    with pytest.raises(EnoughError):
        DaskRankSVM(C=0.1, callback=stop).fit(X, y, qid)
    assert held(client) == 0


@pytest.mark.parametrize("seconds", [0.05, 0.3, 1.0])
def test_ctrl_c_leaves_nothing(client, data, seconds):
    X, y, qid = arrays(data, 200)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it
    over = threading.Event()

    def interrupt():
        while not over.wait(seconds):
            os.kill(os.getpid(), signal.SIGINT)
            over.wait(5)  # where Python lost it, in some object's finalizer, the user presses again

    pressing = threading.Thread(target=interrupt)
    pressing.start()
    ranker = DaskRankSVM(C=0.1, loss="hinge", solver="bundle", tol=1e-12)  # takes far longer
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y, qid)
    over.set()
    pressing.join()
    assert held(client) == 0

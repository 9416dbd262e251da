"""A scheduler and two worker processes for all tests; those that kill something start their own."""

from importlib.util import find_spec

import pytest

if not (find_spec("dask") and find_spec("distributed")):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    from processes import Processes

    cluster = Processes(tmp_path_factory.mktemp("cluster"))
    yield cluster.client
    cluster.close()


@pytest.fixture
def processes(tmp_path):
    from processes import Processes

    started = []

    def start(**options):
        started.append(Processes(tmp_path, **options))
        return started[-1]

    yield start
    for cluster in started:
        cluster.close()

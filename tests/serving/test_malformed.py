"""10,000 malformed requests: each gets a status of its own and one sentence, never a traceback."""

import asyncio
import json

import numpy as np
import pytest
from benchmarks import malformed

from rankwise.data.columns import ModelColumns
from rankwise.rankers.models import LinearModel
from rankwise.serving import Limits, make_app


@pytest.fixture
def app():
    model = LinearModel(
        kind="RankSVM", params={}, columns=ModelColumns(3, 1, malformed.NAMES), coef=np.array([1.0, -2.0, 0.5])
    )
    return make_app(model, Limits(size=100_000, documents=100))


def test_malformed_requests(app):
    async def send_all():
        for kind, sent in malformed.requests(10_000, seed=0):
            status, body = await malformed.answer(app, sent)
            assert status in malformed.KINDS[kind][1], (kind, sent, body)
            said = json.loads(body)
            if status != 200:
                assert list(said) == ["error"], (kind, said)
                assert 10 < len(said["error"]) < 400, (kind, said)
                assert said["error"].isprintable(), (kind, said)

    asyncio.run(send_all())


def test_the_requests_before_they_were_spoilt_are_answered(app):
    """Otherwise the test above could pass for a reason that has nothing to do with what was spoilt."""
    import random

    draw = random.Random(1)
    for _ in range(50):
        request = malformed.good(draw)
        status, body = asyncio.run(malformed.answer(app, malformed.Sent(json.dumps(request).encode())))
        assert status == 200
        assert len(json.loads(body)["order"]) == 2

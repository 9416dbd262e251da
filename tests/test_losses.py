import numpy as np
import pytest

from rankwise.objective import losses

GRID = np.linspace(-3, 3, 1201)

CLOSED_FORMS = {
    "hinge": lambda m: np.maximum(0, 1 - m),
    "squared": lambda m: (1 - m) ** 2,
    "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    "huber:0.5": lambda m: np.where(m > 1, 0, np.where(m < 0.5, (1 - m) - 0.25, (1 - m) ** 2)),
    "huber:2.0": lambda m: np.where(m > 1, 0, np.where(m < -1, (1 - m) - 1, (1 - m) ** 2 / 4)),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_pieces_add_up_to_the_closed_form(name):
    np.testing.assert_allclose(losses.parse(name)(GRID), CLOSED_FORMS[name](GRID), atol=1e-12)


@pytest.mark.parametrize("error", [0.1, 1e-2, 1e-3, 1e-4])
def test_logistic_keeps_its_error(error):
    loss, margin = losses.logistic(error), np.linspace(-40, 40, 100_001)
    off = np.abs(loss(margin) - np.log1p(np.exp(-np.abs(margin))) - np.maximum(0, -margin))
    assert off.max() <= error
    slopes = np.diff(loss(margin))
    assert (np.diff(slopes) >= -1e-12).all()  # convex
    assert len(loss.pieces) <= 4 + 0.4 / np.sqrt(error)


@pytest.mark.parametrize("name", ["squared_hinge", "huber:0.5", "huber:2.0", "squared", "logistic:0.01"])
def test_continuous_with_its_slope_at_every_threshold(name):
    loss = losses.parse(name)
    assert loss.smooth
    for piece in loss.pieces:
        if np.isinf(piece.threshold):
            continue
        around = piece.threshold + np.array([-2e-6, -1e-6, 0, 1e-6, 2e-6])
        slopes = np.diff(loss(around)) / 1e-6
        np.testing.assert_allclose(slopes, slopes[0], atol=2e-5)


def test_hinge_has_a_corner():
    assert not losses.hinge().smooth
    assert losses.huber(1e-8).smooth


@pytest.mark.parametrize("name", [*CLOSED_FORMS, "logistic:0.01"])
def test_parse_reads_what_str_writes(name):
    loss = losses.parse(name)
    assert losses.parse(str(loss)) == loss


def test_spellings():
    assert losses.parse("squared-hinge") == losses.squared_hinge()
    assert losses.parse("huber") == losses.huber(1.0)
    assert losses.parse(losses.huber(0.3)) == losses.huber(0.3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hubre:1", "loss must be one of 'hinge', .*; got 'hubre'. Did you mean 'huber'"),
        ("huber:-1", "width of huber is -1"),
        ("huber:nan", "width of huber is nan"),
        ("huber:wide", "'wide' is not a number"),
        ("squared_hinge:2", "squared_hinge takes no parameter"),
        ("logistic:1e-9", "error of logistic is 1e-09: it must be between"),
        ("logistic:small", "write it as 'logistic:0.001'"),
    ],
)
def test_bad_spellings_are_one_sentence(text, words):
    with pytest.raises(ValueError, match=words):
        losses.parse(text)

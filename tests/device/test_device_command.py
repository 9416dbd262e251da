"""rankwise train --device."""

import numpy as np
from typer.testing import CliRunner

from rankwise import load_model, load_sample, write_letor
from rankwise.cli.app import app


def train(folder, *more):
    return CliRunner().invoke(app, ["train", str(folder / "train.txt"), "-o", str(folder / "model.json"), *more])


def test_a_model_trained_there_is_the_same(place, tmp_path):
    write_letor(tmp_path / "train.txt", load_sample())
    coefs = []
    for more in ([], ["--device", place]):
        done = train(tmp_path, "--C", "0.01", "--tol", "1e-8", *more)
        assert done.exit_code == 0, done.stderr
        coefs.append(load_model(tmp_path / "model.json").coef_)
    np.testing.assert_allclose(*coefs, atol=1e-9)


def test_a_device_that_is_not_there_is_wrong_usage(tmp_path):
    write_letor(tmp_path / "train.txt", load_sample())
    done = train(tmp_path, "--device", "tpu")
    assert done.exit_code == 2
    assert "--device" in done.stderr
    assert "'tpu'" in done.stderr

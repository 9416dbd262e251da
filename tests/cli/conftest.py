"""Fixtures of several tests of the commands."""

import pytest
from commands import run, write_sample


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with train.txt and test.txt of the sample, and a model of the first."""
    folder = write_sample(tmp_path_factory.mktemp("data"))
    run("train", folder / "train.txt", "-o", folder / "model.json", "--C", "0.01")
    return folder

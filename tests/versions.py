"""What tests need of other libraries' versions."""

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

ROUTED_IN_PIPELINES = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn before 1.8 does not route qid to the score of a pipeline",
)

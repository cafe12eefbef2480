import pytest
from made_language import SIZES

from orla.language import pretraining


@pytest.fixture(scope="session", params=SIZES)
def saved(request, tmp_path_factory):
    """A model that the rule made, as a folder."""
    folder = tmp_path_factory.mktemp(request.param)
    settings = {"vocabulary": 270, "seed": 0, "learning_rate": 0.01, "steps": 3, "batch": 2}
    settings |= {"window": 16, "shares": {"code": 0.5, "prose": 0.5}}
    texts = {"code": "def f(x):\n    return x\n\n" * 20, "prose": "A word and another. " * 30}
    make = SIZES[request.param] | {"model_type": request.param}
    pretraining.pretrain(make, texts, settings, folder)
    return folder

"""Jobs of language models and of images, as rules ask the config for them, and their costs."""

import copy
from pathlib import Path

import pytest
import yaml
from one_task import CONFIG, said_of

from orla.errors import OrlaError
from orla.study.chapter_jobs import chapter_cpu_s, language_jobs, vision_jobs

ROOT = Path(__file__).parents[2]
CONFIGS = {
    name: yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
    for name in ("language", "vision")
}


def test_a_language_model_has_a_job_a_rank():
    jobs = language_jobs(CONFIGS["language"])
    ranks = {"gpt2": (4, 16), "mamba": (4,), "rwkv": (4,)}
    assert {*jobs} == {f"language/{name}/rank-{r}" for name, some in ranks.items() for r in some}
    assert jobs["language/gpt2/rank-16"]["adapters"]["optimizers"] == ["adam"]
    assert language_jobs({}) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"streams": [["prose", "code", "prose"]]}, '"language.streams[0]" has 3 domains'),
        ({"streams": [["prose", "prose"]]}, '"language.streams[0]" has one domain twice in a row'),
        (
            {"streams": [["prose", "cod"]]},
            'cannot be "cod", no text of language.texts; the nearest',
        ),
        ({"tokens": 20250}, "segments of whole bins need a multiple of 1000"),
        (
            {"choosing": 511},
            '"language.choosing" is 511; segments of whole bins need a',
        ),
        ({"adapters": [{"rank": 4}, {"rank": 4}]}, 'adapters[1]" has gpt2 at rank 4, as an entry'),
        ({"adapters": [{"rank": 4, "models": ["mmba"]}]}, 'has no model; the nearest is "mamba"'),
    ],
)
def test_a_study_of_language_models_that_would_not_be_what_it_says_is_refused(changes, words):
    config = copy.deepcopy(CONFIGS["language"])
    config["language"] |= changes
    with pytest.raises(OrlaError) as error:
        language_jobs(config)
    assert words in str(error.value)


def test_language_model_with_both_load_and_make_is_refused():
    models = {"gpt2": {"load": "folder", "make": {"model_type": "gpt2"}}}
    line = said_of(CONFIG | {"language": CONFIGS["language"]["language"] | {"models": models}})
    assert '"language.models.gpt2" is of several kinds at once; give one of make or load' in line


def test_a_job_of_images_depends_on_its_own_rates_alone():
    config = copy.deepcopy(CONFIGS["vision"])
    before = vision_jobs(config)
    assert before["none", "-"] == config["vision"] | {"rates": {}}
    config["vision"]["rates"]["lora"] = config["vision"]["rates"]["lora"] | {"sgd": [0.1, 0.3]}
    after = vision_jobs(config)
    assert [way for way in after if after[way] != before[way]] == [("lora", "sgd")]


def costs(config):
    """CPU seconds of the jobs of a chapter."""
    jobs = [("vision_network", {})] if "vision" in config else []
    for adapts, optimizer in vision_jobs(config):
        jobs.append(("vision_adapt", {"adapts": adapts, "optimizer": optimizer}))
    for path in language_jobs(config):
        _, name, rank = path.split("/")
        words = {"model": name, "rank": rank.removeprefix("rank-")}
        jobs += [("language_pretraining", words), ("language_adaptation", words)]
    return [chapter_cpu_s(config, rule, words) for rule, words in jobs]


def test_costs_follow_the_size_of_what_is_asked(tmp_path):
    vision, language = copy.deepcopy(CONFIGS["vision"]), copy.deepcopy(CONFIGS["language"])
    default, small_models = sum(costs(vision)), sum(costs(language))
    assert 900 < default < 1600 and 1000 < small_models < 2500  # as measured: docs of both
    vision["vision"]["network"] |= {"depth": 28, "widen": 10}
    assert sum(costs(vision)) > 300 * default
    language["language"] |= {"tokens": 2000, "choosing": 1000}
    few = sum(costs(language))
    assert few < small_models / 2
    (tmp_path / "model.safetensors").write_bytes(bytes(40_000_000))
    language["language"]["models"]["gpt2"] = {"load": str(tmp_path)}
    assert sum(costs(language)) > 3 * few
    assert chapter_cpu_s(vision, "adapt", {}) == 0

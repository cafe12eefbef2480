import pytest

from orla.catalogue.options import settings
from orla.errors import OrlaError
from orla.sessions.simulator import ArraySettings, DriftSettings, Settings, TaskSettings


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("array", ArraySettings(sorted_shares=(0.0,)), r"sorted_shares: .* are no shares"),
        ("array", ArraySettings(sorted_shares=(0.5, -0.1)), r"sorted_shares: .* are no shares"),
        (
            "task",
            TaskSettings(duration_a_s=float("nan")),
            r"duration_a_s: nan; give a finite",
        ),
    ],
)
def test_a_magnitude_that_cannot_be_is_named(part, value, message):
    with pytest.raises(OrlaError, match=message):
        Settings(**{part: value})


def test_a_config_gives_settings_with_the_rest_at_their_defaults():
    given = settings(Settings, {"seed": 4, "drift": {"scale": 2.0}}, "config: simulated")
    assert given == Settings(drift=DriftSettings(scale=2.0), seed=4)
    with pytest.raises(OrlaError, match=r'"drift\.scales" is not a known key; .*"scale"'):
        settings(Settings, {"drift": {"scales": 2.0}}, "config: simulated")
    for given, message in (
        ({"task": {"grid_side": 1}}, r'"task\.grid_side" must be at least 2'),
        ({"drift": {"lost": 1.2}}, r'"drift\.lost" must be at most 1'),
        ({"array": {"unit_hz": 0.0}}, r'"array\.unit_hz" must be greater than 0'),
    ):
        with pytest.raises(OrlaError, match=message):
            settings(Settings, given, "config: simulated")
    settings(Settings, {"drift": {"scale": 0.0, "lost": 1.0}, "task": {"start_s": -3.0}}, "config")

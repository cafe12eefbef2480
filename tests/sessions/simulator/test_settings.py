import pytest

from orla.errors import OrlaError
from orla.options import settings
from orla.sessions.simulator import ArraySettings, DriftSettings, Settings, TaskSettings


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("drift", DriftSettings(lost=1.2), r"simulated\.drift\.lost: 1\.2 cannot be; .* at most 1"),
        ("drift", DriftSettings(scale=-1.0), r"drift\.scale: -1\.0 cannot be; .* at least 0"),
        ("array", ArraySettings(unit_hz=0.0), r"array\.unit_hz: 0\.0 cannot be.*above 0"),
        ("array", ArraySettings(sorted_shares=(0.0,)), r"sorted_shares: .* are no shares"),
        ("array", ArraySettings(sorted_shares=(0.5, -0.1)), r"sorted_shares: .* are no shares"),
        ("task", TaskSettings(duration_a_s=float("nan")), r"duration_a_s: nan cannot be"),
        ("task", TaskSettings(grid_side=1), r"grid_side: 1 cannot be; .* at least 2"),
    ],
)
def test_a_magnitude_that_cannot_be_is_named(part, value, message):
    with pytest.raises(OrlaError, match=message):
        Settings(**{part: value})


def test_magnitudes_at_their_limits_are_fine():
    Settings(drift=DriftSettings(scale=0.0, lost=1.0), task=TaskSettings(start_s=-3.0))


def test_a_config_gives_settings_with_the_rest_at_their_defaults():
    given = settings(Settings, {"seed": 4, "drift": {"scale": 2.0}}, "config: simulated")
    assert given == Settings(drift=DriftSettings(scale=2.0), seed=4)
    with pytest.raises(OrlaError, match=r'"drift\.scales" is not a known key; .*"scale"'):
        settings(Settings, {"drift": {"scales": 2.0}}, "config: simulated")
    with pytest.raises(OrlaError, match=r'"task\.grid_side" must be at least 2'):
        settings(Settings, {"task": {"grid_side": 1}}, "config: simulated")

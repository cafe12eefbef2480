import pytest

from orla.errors import OrlaError
from orla.sessions.parts import Sizes, parts, pretraining_steps, stationary_split


def test_the_study_cuts_as_the_paper_counts():
    p = parts(26_700, 16_500, Sizes())
    assert p.a_pretraining == slice(0, 20_450)
    assert p.a_tail_stream == slice(20_450, 25_450)
    assert p.a_heldout == slice(25_450, 26_700)
    half, most = p.splits["50-50"], p.splits["80-20"]
    assert (half.adapt, half.heldout) == (slice(0, 8_200), slice(8_200, 16_500))
    assert half.adapt.stop // 200 == 41
    assert (most.adapt, most.heldout) == (slice(0, 13_200), slice(13_200, 16_500))
    assert half.selection_cut == 6_400 and most.selection_cut == 10_400


def brute_force_cut(fraction, steps, cut):
    """The largest multiple of `cut` that is at most the fraction of the steps."""
    return max(k for k in range(0, steps + 1, cut) if k <= fraction * steps + 1e-6)


@pytest.mark.parametrize("steps_b", [2_000, 2_199, 16_400, 16_799, 4_321])
@pytest.mark.parametrize("cut", [1, 7, 200])
@pytest.mark.parametrize("fraction", [0.5, 0.8, 0.29])
def test_parts_tile_both_sessions_and_cut_at_multiples(steps_b, cut, fraction):
    p = parts(9_000, steps_b, Sizes(cut, splits={"s": fraction}))
    assert p.a_pretraining.start == 0
    assert p.a_pretraining.stop == p.a_tail_stream.start
    assert p.a_tail_stream.stop == p.a_heldout.start
    assert p.a_heldout.stop == 9_000
    split = p.splits["s"]
    assert split.adapt.start == 0 and split.adapt.stop == split.heldout.start
    assert split.heldout.stop == steps_b
    assert split.adapt.stop == brute_force_cut(fraction, steps_b, cut)
    assert split.selection_cut == brute_force_cut(0.8, split.adapt.stop, cut)


def test_sizes_may_be_fractions():
    p = parts(895, 835, Sizes(cut=50, tail_steps=0.3, tail_stream_steps=0.8))
    assert p.a_pretraining == slice(0, 627)
    assert p.a_tail_stream == slice(627, 827)
    assert p.a_heldout == slice(827, 895)
    assert p.splits["50-50"].adapt == slice(0, 400)
    assert p.splits["80-20"].heldout == slice(650, 835)


def test_a_fraction_that_rounds_badly_keeps_its_step():
    # 0.29 * 100 is 28.999999999999996
    assert pretraining_steps(100, 0.29) == 71
    split = parts(9_000, 100, Sizes(1, splits={"s": 0.29})).splits["s"]
    assert split.adapt == slice(0, 29)


@pytest.mark.parametrize(
    ("steps_a", "steps_b", "sizes", "names"),
    [
        (6_250, 16_500, {}, "a_pretraining is empty"),
        (26_700, 16_500, dict(tail_stream_steps=6_250), "a_heldout is empty"),
        (900, 800, dict(tail_steps=0.2, tail_stream_steps=0.8), "a_tail_stream is empty"),
        (26_700, 300, {}, "split 50-50: the adapt part is empty"),
        (26_700, 400, {}, "selection learns is empty"),
        (26_700, 9_000, dict(selection_fraction=1.0), "selection scores is empty"),
        (26_700, 9_000, dict(tail_steps=1.5), "tail_steps"),
    ],
)
def test_an_empty_part_is_named_with_its_mend(steps_a, steps_b, sizes, names):
    with pytest.raises(OrlaError, match=names) as caught:
        parts(steps_a, steps_b, Sizes(**{"splits": {"50-50": 0.5}} | sizes))
    assert "\n" not in str(caught.value)


def test_what_barely_fits_is_no_error():
    parts(6_251, 400, Sizes(100, tail_steps=6_250, tail_stream_steps=6_249, splits={"s": 0.5}))


def test_the_stationary_control_adapts_to_the_tail_stream_of_a():
    p = parts(26_700, 16_500, Sizes())
    control = stationary_split(p, Sizes())
    assert control.adapt == slice(20_450, 25_450)
    assert control.heldout == slice(25_450, 26_700)
    assert control.selection_cut == 4_000
    assert stationary_split(p, Sizes(300)).selection_cut == 3_900
    with pytest.raises(OrlaError, match="split stationary: the part on which selection learns"):
        stationary_split(p, Sizes(4_500))

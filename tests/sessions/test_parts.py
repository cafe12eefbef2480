import pytest

from orla.errors import OrlaError
from orla.sessions.parts import Sizes, cut_sessions, pretraining_steps, stationary_split


def test_the_study_cuts_as_the_paper_counts():
    p = cut_sessions(26_700, 16_500, Sizes())
    assert p.a_pretraining == slice(0, 20_450)
    assert p.a_tail_stream == slice(20_450, 25_450)
    assert p.a_heldout == slice(25_450, 26_700)
    half, most = p.splits["50-50"], p.splits["80-20"]
    assert (half.adapt, half.heldout) == (slice(0, 8_200), slice(8_200, 16_500))
    assert (most.adapt, most.heldout) == (slice(0, 13_200), slice(13_200, 16_500))
    assert half.selection_cut == 6_400 and most.selection_cut == 10_400
    # The stationary control adapts to the tail stream of A.
    control = stationary_split(p, Sizes())
    assert (control.adapt, control.heldout) == (p.a_tail_stream, p.a_heldout)
    assert control.selection_cut == 4_000
    assert stationary_split(p, Sizes(300)).selection_cut == 3_900


def brute_force_cut(fraction, steps, cut):
    """The largest multiple of `cut` that is at most the fraction of the steps."""
    return max(k for k in range(0, steps + 1, cut) if k <= fraction * steps + 1e-6)


@pytest.mark.parametrize("steps_b", [2_000, 2_199, 4_321])
@pytest.mark.parametrize("cut", [1, 7, 200])
@pytest.mark.parametrize("fraction", [0.5, 0.8, 0.29])
def test_parts_tile_both_sessions_and_cut_at_multiples(steps_b, cut, fraction):
    p = cut_sessions(9_000, steps_b, Sizes(cut, splits={"s": fraction}))
    split = p.splits["s"]
    for first, *rest, steps in (
        (p.a_pretraining, p.a_tail_stream, p.a_heldout, 9_000),
        (split.adapt, split.heldout, steps_b),
    ):
        ends = [0, first.stop, *(part.stop for part in rest)]
        assert [part.start for part in (first, *rest)] == ends[:-1] and ends[-1] == steps
    assert split.adapt.stop == brute_force_cut(fraction, steps_b, cut)
    assert split.selection_cut == brute_force_cut(0.8, split.adapt.stop, cut)


def test_sizes_may_be_fractions_and_what_barely_fits_is_no_error():
    p = cut_sessions(895, 835, Sizes(cut=50, tail_steps=0.3, tail_stream_steps=0.8))
    assert p.a_pretraining == slice(0, 627)
    assert (p.a_tail_stream, p.a_heldout) == (slice(627, 827), slice(827, 895))
    assert p.splits["50-50"].adapt == slice(0, 400)
    assert p.splits["80-20"].heldout == slice(650, 835)
    # 0.29 * 100 is 28.999999999999996
    assert pretraining_steps(100, 0.29) == 71
    assert cut_sessions(9_000, 100, Sizes(1, splits={"s": 0.29})).splits["s"].adapt == slice(0, 29)
    cut_sessions(
        6_251, 400, Sizes(100, tail_steps=6_250, tail_stream_steps=6_249, splits={"s": 0.5})
    )


@pytest.mark.parametrize(
    ("steps_a", "steps_b", "sizes", "names"),
    [
        (6_250, 16_500, {}, "a_pretraining is empty"),
        (26_700, 16_500, dict(tail_stream_steps=6_250), "a_heldout is empty"),
        (900, 800, dict(tail_steps=0.2, tail_stream_steps=0.8), "a_tail_stream is empty"),
        (26_700, 300, {}, "split 50-50: the adapt part is empty"),
        (26_700, 16_400, dict(splits={"50-50": 1.0}), "split 50-50: the held-out part is empty"),
        (26_700, 400, {}, "selection learns is empty"),
        (26_700, 9_000, dict(selection_fraction=1.0), "selection scores is empty"),
        (26_700, 9_000, dict(tail_steps=1.5), "tail_steps"),
        (26_700, 16_500, dict(cut=4_500, splits={}), "split stationary: the part on which selec"),
    ],
)
def test_an_empty_part_is_named_with_its_mend(steps_a, steps_b, sizes, names):
    sizes = Sizes(**{"splits": {"50-50": 0.5}} | sizes)
    with pytest.raises(OrlaError, match=names) as caught:
        stationary_split(cut_sessions(steps_a, steps_b, sizes), sizes)
    assert "\n" not in str(caught.value)

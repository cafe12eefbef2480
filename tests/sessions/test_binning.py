import numpy as np
import pytest
from made import by_hand_counts, session

from orla.sessions.binning import bin_edges, bin_velocities, channel_counts


def test_bins_by_hand():
    s = session(rates=(1.0, 1.0))
    s.unit_spikes = [
        np.array([3.0, 3.049, 3.05, 3.1, 3.24]),
        np.array([3.01]),
        np.array([3.249, 3.25]),
        np.empty(0),
    ]
    edges = np.array([3.0, 3.05, 3.1, 3.15, 3.2, 3.25])
    assert channel_counts(s, edges).tolist() == [[3, 0], [1, 0], [1, 0], [0, 0], [1, 1]]
    assert channel_counts(s, edges, "sorted").tolist() == [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize("units", ["all", "sorted"])
def test_counts_agree_with_a_loop_over_events(units):
    s = session(seconds=2.0)
    edges = bin_edges(s.time_s, 0.05)
    np.testing.assert_array_equal(channel_counts(s, edges, units), by_hand_counts(s, edges, units))


def test_edges_start_at_the_first_sample_and_end_within_the_last():
    edges = bin_edges(np.arange(0.0, 1.0001, 0.004) + 7.0, 0.05)
    np.testing.assert_allclose(edges, 7.0 + 0.05 * np.arange(21))
    short = bin_edges(np.arange(0.0, 0.9961, 0.004), 0.05)
    assert len(short) == 20


def test_a_time_base_that_ends_a_rounding_error_short_of_an_edge_holds_that_bin():
    # 0.3 / 0.1 is 2.9999999999999996
    np.testing.assert_allclose(bin_edges(np.array([0.0, 0.3]), 0.1), [0.0, 0.1, 0.2, 0.3])


def test_a_lag_keeps_the_bins_whose_target_exists():
    time_s = np.arange(0.0, 1.0001, 0.004)
    np.testing.assert_allclose(bin_edges(time_s, 0.1, 0.25), 0.1 * np.arange(8))
    np.testing.assert_allclose(bin_edges(time_s, 0.1, -0.25), 0.1 * np.arange(3, 11))


def test_velocity_is_the_mean_of_the_derivative_over_the_bin():
    time_s = np.arange(0.0, 2.0001, 0.004)
    position = np.column_stack([0.03 * time_s**2, np.full_like(time_s, 0.4)])
    edges = bin_edges(time_s, 0.05)
    velocity = bin_velocities(time_s, position, edges)
    middle = (edges[:-1] + edges[1:]) / 2
    # Linear interpolation of a parabola between samples 4 ms apart errs by under 1.2e-7 m.
    np.testing.assert_allclose(velocity[:, 0], 1000 * 2 * 0.03 * middle, atol=0.01)
    np.testing.assert_allclose(velocity[:, 1], 0.0, atol=1e-9)


def test_edges_between_samples_are_interpolated():
    velocity = bin_velocities(
        np.array([0.0, 1.0, 2.0]),
        np.array([[0.0, 0.0], [1.0, 4.0], [1.0, 4.0]]),
        np.array([0.5, 1.5]),
    )
    np.testing.assert_allclose(velocity, [[500.0, 2000.0]])

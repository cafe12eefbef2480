"""Numbers as readers see them."""

import math

import numpy as np
import pandas as pd
import pytest

from orla.reports.numbers import MISSING, bind_units, count, estimate, interval, number, rate


@pytest.mark.parametrize(
    ("value", "signed", "text"),
    [
        (37.64, False, "37.6"),
        (-0.3, True, "−0.3"),
        (2.0, True, "+2.0"),
        (-0.04, True, "0.0"),
        (0.0, True, "0.0"),
        (-123456.0, False, "−1.2×10⁵"),
        (99_999.0, False, "99999.0"),
        (99_999.97, False, "10⁵"),
        (100_000.0, False, "10⁵"),
    ],
)
def test_numbers_have_one_decimal_a_minus_sign_and_powers_of_ten(value, signed, text):
    assert number(value, signed=signed) == text


@pytest.mark.parametrize("value", [None, math.nan, np.float64("nan"), math.inf, pd.NA])
def test_missing_is_a_dash_everywhere(value):
    assert number(value) == rate(value) == count(value) == MISSING
    assert estimate(value, value, value) == MISSING
    assert interval(value, 1.0) == interval(1.0, value) == ""


def test_rate():
    rates = {1e-4: "10⁻⁴", 3e-3: "3×10⁻³", 0.1: "10⁻¹", 3.1623e-4: "3.2×10⁻⁴", 1.0: "10⁰", 0.0: "0"}
    assert {value: rate(value) for value in rates} == rates


def test_bind_keeps_numbers_with_their_units():
    assert bind_units("gap 3 pp, 90 % of n = 20") == "gap 3\u00a0pp, 90\u00a0% of n\u00a0=\u00a020"
    assert bind_units("3 ppm; fin = 2") == "3 ppm; fin = 2"

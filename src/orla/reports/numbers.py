"""Formatted numbers: a true minus sign, fixed digits, a dash for what is missing."""

import math
import re
from collections.abc import Callable
from typing import Any

import pandas as pd

Number = float | None
MISSING = "–"
_BOUND = re.compile(r"(?<=\d) (?=(?:%|pp\b))|(?<=\bn) (?==)|(?<=\bn =) (?=\d)")
_POWER = re.compile(r"\^(-?\d+)")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NA or infinite: nothing a table can print as a number."""
    if value is None or value is pd.NA:
        return True
    return isinstance(value, float) and not math.isfinite(value)


def number(value: Number, digits: int = 1, signed: bool = False) -> str:
    """A number with fixed digits; missing is a dash, and what rounds to zero has no sign."""
    if is_missing(value):
        return MISSING
    text = f"{abs(value):.{digits}f}"
    if float(text) >= 1e5:
        return scientific(value)
    if float(text) == 0:
        return text
    sign = "−" if value < 0 else "+" if signed else ""
    return sign + text


def scientific(value: float) -> str:
    """Two significant digits and a power of ten, as 3.2×10⁵."""
    mantissa, exponent = f"{abs(value):.1e}".split("e")
    mantissa = mantissa.removesuffix(".0")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return ("−" if value < 0 else "") + (power if mantissa == "1" else f"{mantissa}×{power}")


def raise_exponents(text: str) -> str:
    """The text with raised exponents: O(n²) for O(n^2)."""
    return _POWER.sub(lambda power: power[1].translate(_SUPERSCRIPTS), text)


def memory(value: Number) -> str:
    """Bytes in the unit that leaves one to three digits before the point: 3.5 MB."""
    if is_missing(value):
        return MISSING
    for unit in ("B", "kB", "MB"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 9.95 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def rate(value: Number) -> str:
    """A learning rate: 3×10⁻⁴; missing is a dash; zero stays zero."""
    if is_missing(value):
        return MISSING
    return scientific(value) if value else "0"


def or_default(value: Any, default: Any) -> Any:
    """A value, or another where it is missing."""
    return default if is_missing(value) else value


def interval(low: Number, high: Number, digits: int = 1) -> str:
    """``[low, high]`` that no line break parts, or nothing where an end is missing."""
    if is_missing(low) or is_missing(high):
        return ""
    return f"[{number(low, digits)},\u00a0{number(high, digits)}]"


def estimate(
    value: Number, *ends: Number, digits: int = 1, signed: bool = False, n: Number = None
) -> str:
    """An estimate and its interval as text; no interval where `n` is 1, a dash where missing."""
    text = number(value, digits, signed)
    if len(ends) < 2 or text == MISSING or (n is not None and n < 2):
        return text
    return f"{text} {interval(*ends, digits)}".rstrip()


def count(value: Number) -> str:
    """A whole number, or a dash."""
    return MISSING if is_missing(value) else str(int(value))


def sample_size(size: int | str, diverged: int, separator: str = " ") -> str:
    """A number of networks, and how many of them diverged where any did."""
    return f"{size}{separator}({diverged} div.)" if diverged else str(size)


def span(values: pd.Series, write: Callable[..., str] = number, **how: Any) -> str:
    """Smallest to largest value, each written so; "diverged" where none is finite."""
    values = values.dropna()
    if values.empty:
        return "diverged"
    low, high = (write(end, **how) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def join_lines(text: str) -> str:
    """A text that is written in several lines, in one."""
    return re.sub(r"\s*\n\s*", " ", text)


def bind_units(text: str) -> str:
    """The text with its numbers bound to their units, so that no line break parts them."""
    return _BOUND.sub("\u00a0", text)

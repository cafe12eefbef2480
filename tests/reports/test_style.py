"""The looks of series: they differ in grey, to every eye, and from each other."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib import colors

from orla import catalogue
from orla.reports import style

# Machado, Oliveira and Fernandes 2009, severity 1, linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(color, blindness="none"):
    """CIE L*a*b* (D65) of a color as such an eye sees it."""
    rgb = np.array(colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(BLINDNESS[blindness]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ seen / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


SERIES = {
    "optimizer": list(catalogue.parts("optimizer")),
    "learner": ["immediate", "rtrl", "last-layer", "immediate-200", "tbptt-200-200"],
}


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("kind", SERIES)
def test_palettes_differ_to_every_eye(kind, blindness, simulated):
    looks = style.marks(kind, SERIES[kind], simulated).values()
    seen = [lab(mark.color, blindness) for mark in looks]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 12


def test_no_two_series_look_the_same(simulated):
    windows = [f"immediate-{n}" for n in range(2, 20)] + [f"tbptt-{n}-{n}" for n in range(2, 20)]
    slugs = [*SERIES["learner"], *windows, "from-outside", "from-elsewhere"]
    looks = style.marks("learner", slugs, simulated)
    assert len({(mark.marker, mark.line) for mark in looks.values()}) == len(slugs) > 40
    for slug in SERIES["learner"]:
        if slug != "immediate-200":
            name = slug.partition("-200")[0]
            assert looks[slug] == catalogue.part("learner", name).part.mark
    assert looks == style.marks("learner", reversed(slugs), simulated)

"""The corruptions of CIFAR-10-C at severity 5, for batches of 32 x 32 images.

Source: Hendrycks and Dietterich (2019), with the constants of their make_cifar_c.py. Motion blur
has ImageMagick's kernel. Frost has no photographs but the ridges of a plasma fractal.
"""

import io
import math
import zlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.colors import hsv_to_rgb, rgb_to_hsv
from numpy.random import Generator
from PIL import Image
from scipy import ndimage

SIZE = 32
_MUD = np.array([63, 42, 20]) / 255
_GREY = np.array([0.299, 0.587, 0.114])
# Of each image (n, 32, 32, ...).
_gaussian_blur = partial(ndimage.gaussian_filter, mode="nearest", axes=(1, 2))
_interpolate = partial(ndimage.map_coordinates, order=1)


def corrupt(images: np.ndarray, name: str) -> np.ndarray:
    """Images (n, 32, 32, 3), uint8, under a key of `SCORED` or `EXTRA`, which seeds its noise."""
    change, *constants = (SCORED | EXTRA)[name]
    values = change(images / 255, np.random.default_rng(zlib.crc32(name.encode())), *constants)
    return (np.clip(values, 0, 1) * 255).astype(np.uint8)


def _zoom_blur(x: np.ndarray, factors: Sequence[float]) -> np.ndarray:
    """The mean of x (n, 32, 32, ...) enlarged about its centre by each of the factors."""
    total = np.zeros_like(x)
    for factor in factors:
        top = (SIZE - (crop := math.ceil(SIZE / factor))) // 2
        # Linear interpolation is a matrix, the same for rows and columns.
        matrix = ndimage.zoom(np.eye(SIZE)[top : top + crop], (factor, 1), order=1)
        matrix = matrix[(len(matrix) - SIZE) // 2 :][:SIZE]
        total += np.einsum("ij,njk...,lk->nil...", matrix, x, matrix, optimize=True)
    return total / len(factors)


def _motion_blur(
    x: np.ndarray, rng: Generator, radius: int, sigma: float, low: float, high: float
) -> np.ndarray:
    """Motion blur of x (n, 32, 32, ...), each image by an angle between two (degrees)."""
    taps, total = np.arange(2 * radius + 1), np.zeros_like(x)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    angle = np.radians(rng.uniform(low, high, len(x)))[:, None, None]
    image, row, column = np.ogrid[: len(x), :SIZE, :SIZE]
    for tap, weight in zip(taps, weights / weights.sum(), strict=True):
        down, right = (np.ceil(tap * f(angle) - 0.5).astype(int) for f in (np.sin, np.cos))
        places = (np.clip(row + down, 0, SIZE - 1), np.clip(column + right, 0, SIZE - 1))
        total += weight * x[image, *places]
    return total


def _plasma_fractal(n: int, rng: Generator, decay: float) -> np.ndarray:
    """Heights (n, 32, 32, 1) in [0, 1] by the diamond-square algorithm."""
    maps, half, wibble = np.zeros((n, SIZE, SIZE)), SIZE // 2, 100.0
    while half:
        # Middles of squares, then of their sides, from the four points around.
        for row, column, lean in ((half, half, 1), (0, half, 0), (half, 0, 0)):
            place = (slice(None), slice(row, None, 2 * half), slice(column, None, 2 * half))
            around = ((1, lean), (-lean, 1), (-1, -lean), (lean, -1))
            near = sum(np.roll(maps, (half * a, half * b), (1, 2)) for a, b in around)[place]
            maps[place] = near / 4 + wibble * rng.uniform(-wibble, wibble, near.shape)
        half, wibble = half // 2, wibble / decay
    maps -= maps.min((1, 2), keepdims=True)
    return (maps / maps.max((1, 2), keepdims=True))[..., None]


def _glass_blur(x: np.ndarray, rng: Generator, sigma: float, reach: int, times: int) -> np.ndarray:
    x, image = np.uint8(_gaussian_blur(x, sigma) * 255), np.arange(len(x))
    for step in np.ndindex(times, SIZE - 2 * reach, SIZE - 2 * reach):
        row, column = SIZE - reach - step[1], SIZE - reach - step[2]
        right, down = rng.integers(-reach, reach, (2, len(x)))
        # The published code swaps two views of one array, which copies.
        x[:, row, column] = x[image, row + down, column + right]
    return _gaussian_blur(x / 255, sigma)


def _add_snow(x: np.ndarray, rng: Generator, *c: Any) -> np.ndarray:
    flakes = _zoom_blur(rng.normal(c[0], c[1], x.shape[:3]), [c[2]])
    flakes = np.where(flakes < c[3], 0, np.clip(flakes, 0, 1))
    flakes = _motion_blur(flakes, rng, c[4], c[5], -135, -45)[..., None]
    white = np.maximum(x, (x @ _GREY)[..., None] * 1.5 + 0.5)
    return c[6] * x + (1 - c[6]) * white + flakes + np.rot90(flakes, 2, (1, 2))


def _add_fog(x: np.ndarray, rng: Generator, amount: float, decay: float) -> np.ndarray:
    most = x.max((1, 2, 3), keepdims=True)
    return (x + amount * _plasma_fractal(len(x), rng, decay)) * most / (most + amount)


def _add_frost(x: np.ndarray, rng: Generator, share: float, ice: float) -> np.ndarray:
    return share * x + ice * (1 - np.abs(2 * _plasma_fractal(len(x), rng, 1.75) - 1))


def _change_hsv_channel(x: np.ndarray, channel: int, times: float, plus: float) -> np.ndarray:
    hsv = rgb_to_hsv(x)
    hsv[..., channel] = np.clip(hsv[..., channel] * times + plus, 0, 1)
    return hsv_to_rgb(hsv)


def _elastic_transform(
    x: np.ndarray, rng: Generator, size: float, sigma: float, jitter: float
) -> np.ndarray:
    """Images under a random affine map and a smooth random displacement."""
    corners, grid = np.array([[26.0, 26], [6, 26], [6, 6]]), np.mgrid[:SIZE, :SIZE]
    noise = rng.uniform(-1, 1, (len(x), 2, SIZE, SIZE))
    fields = ndimage.gaussian_filter(noise, sigma, truncate=3, axes=(2, 3)) * size
    moves = corners + rng.uniform(-jitter, jitter, (len(x), 3, 2))
    affine = np.linalg.solve(np.dstack([moves, np.ones((len(x), 3))]), corners)
    out = np.empty_like(x)
    for i, channel in np.ndindex(len(x), 3):
        places = np.tensordot(affine[i, :2], grid, (0, 0)) + affine[i, 2, :, None, None]
        plane = _interpolate(x[i, ..., channel], places, mode="mirror")
        out[i, ..., channel] = _interpolate(plane, grid + fields[i], mode="reflect")
    return out


def _compress_or_pixelate(x: np.ndarray, rng: Generator, amount: float) -> np.ndarray:
    """Make JPEGs of this quality, in place; below 1, keep that share of the pixels a side."""
    small, box = int(SIZE * amount), Image.Resampling.BOX
    for i, values in enumerate(x):
        image = Image.fromarray(np.uint8(np.round(values * 255)))
        if amount < 1:
            image = image.resize((small, small), box).resize((SIZE, SIZE), box)
        else:
            image.save(file := io.BytesIO(), "JPEG", quality=amount)
            image = Image.open(file)
        # Half a level more, so that none falls by one where values are cut to whole levels.
        x[i] = (np.asarray(image) + 0.5) / 255
    return x


def _add_spatter(x: np.ndarray, rng: Generator, *c: float) -> np.ndarray:
    liquid = _gaussian_blur(rng.normal(c[0], c[1], x.shape[:3]), c[2])
    mud = _gaussian_blur((liquid > c[3]).astype(float), c[4])[..., None]
    mud = np.where(mud < 0.8, 0, mud)
    return x * (1 - mud) + _MUD * mud


# Corruption -> (function, its constants at severity 5): the fifteen, and four to choose rates on.
SCORED: dict[str, tuple[Any, ...]] = {
    "gaussian_noise": (lambda x, rng, c: x + rng.normal(0, c, x.shape), 0.10),
    "shot_noise": (lambda x, rng, c: rng.poisson(x * c) / c, 50),
    "impulse_noise": (
        lambda x, rng, c: np.where(rng.random(x.shape) <= c, rng.random(x.shape) < 0.5, x),
        0.07,
    ),
    # A disc of this radius is a square of 3 pixels; antialiasing by 0.1 pixels leaves it so.
    "defocus_blur": (
        lambda x, rng, r, alias: ndimage.uniform_filter(x, int(2 * r), mode="mirror", axes=(1, 2)),
        *(1.5, 0.1),
    ),
    "glass_blur": (_glass_blur, 0.4, 1, 2),
    "motion_blur": (lambda x, rng, *c: _motion_blur(x, rng, *c, -45, 45), 9, 2.5),
    # The image itself counts once more.
    "zoom_blur": (lambda x, rng, *c: _zoom_blur(x, [1, *np.arange(*c)]), 1, 1.26, 0.01),
    "snow": (_add_snow, 0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    "frost": (_add_frost, 0.75, 0.45),
    "fog": (_add_fog, 1.5, 1.75),
    "brightness": (lambda x, rng, c: _change_hsv_channel(x, 2, 1, c), 0.3),
    "contrast": (lambda x, rng, c: c * x + (1 - c) * x.mean((1, 2), keepdims=True), 0.15),
    "elastic_transform": (_elastic_transform, SIZE * 0.1, SIZE * 0.03, SIZE * 0.03),
    "pixelate": (_compress_or_pixelate, 0.65),
    "jpeg_compression": (_compress_or_pixelate, 40),
}
EXTRA: dict[str, tuple[Any, ...]] = {
    "speckle_noise": (lambda x, rng, c: x + x * rng.normal(0, c, x.shape), 0.2),
    "gaussian_blur": (lambda x, rng, c: _gaussian_blur(x, c), 1),
    "spatter": (_add_spatter, 0.65, 0.1, 0.5, 0.68, 0.6, 1),
    "saturate": (lambda x, rng, *c: _change_hsv_channel(x, 1, *c), 2.5, 0.2),
}

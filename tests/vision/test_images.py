"""Corruptions against the published code, and files of images."""

import hashlib
import re
import struct

import numpy as np
import pytest
from made_images import cifar_10_c, fashion_mnist
from scipy import ndimage

from orla.errors import OrlaError
from orla.files import sha256
from orla.vision import corruptions, images
from orla.vision.corruptions import EXTRA, SCORED, corrupt

# Constants at severity 5 of make_cifar_c.py (Hendrycks and Dietterich 2019), as it prints them.
PUBLISHED = {
    "gaussian_noise": ".10",
    "shot_noise": "50",
    "impulse_noise": ".07",
    "defocus_blur": "(1.5, 0.1)",
    "glass_blur": "(0.4,1,2)",
    "motion_blur": "(9,2.5)",
    "zoom_blur": "(1, 1.26, 0.01)",
    "snow": "(0.3,0.3,1.25,0.65,14,12,0.8)",
    "frost": "(0.75, 0.45)",
    "fog": "(1.5,1.75)",
    "brightness": ".3",
    "contrast": "0.15",
    "elastic_transform": "(32*0.1, 32*0.03, 32*0.03)",
    "pixelate": "0.65",
    "jpeg_compression": "40",
    "speckle_noise": ".2",
    "gaussian_blur": "1",
    "spatter": "(0.65,0.1,0.5,0.68,0.6,1)",
    "saturate": "(2.5, 0.2)",
}


@pytest.fixture(scope="module")
def pictures():
    """Smooth images of many levels, with colours."""
    noise = np.random.default_rng(3).random((6, 32, 32, 3))
    smooth = ndimage.gaussian_filter(noise, (0, 2, 2, 0))
    return np.uint8(255 * (smooth - smooth.min()) / np.ptp(smooth))


def test_fashion_mnist_files_that_contradict_their_idx_headers_are_refused(tmp_path):
    labels, pixels = "t10k-labels-idx1-ubyte", "t10k-images-idx3-ubyte"
    for name, change, words in (
        (
            labels,
            lambda data: data[:4] + struct.pack(">I", 50) + data[8:58],
            r"of t10k are \(60, 28, 28\) and its labels \(50,\)",
        ),
        (pixels, lambda data: data[:-1], "cannot reshape"),
        (pixels, lambda data: b"\0\0\x0d" + data[3:], "no IDX file of bytes"),
    ):
        settings = fashion_mnist(tmp_path, packed=False)
        data = change((tmp_path / name).read_bytes())
        (tmp_path / name).write_bytes(data)
        settings["sha256"][name] = hashlib.sha256(data).hexdigest()
        with pytest.raises(OrlaError, match=words):
            images.fashion_mnist(settings, "t10k")


def test_corruption_constants_are_the_published_ones():
    ours = {name: constants for name, (_, *constants) in {**SCORED, **EXTRA}.items()}
    assert [*ours] == [*PUBLISHED] and len(SCORED) == 15
    for name, text in PUBLISHED.items():
        numbers = [n.split("*") for n in text.strip("()").split(",")]
        assert ours[name] == pytest.approx([np.prod([*map(float, n)]) for n in numbers]), name


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_corruption_changes_images_and_repeats(pictures, name):
    after = corrupt(pictures, name)
    assert after.dtype == np.uint8 and after.shape == pictures.shape
    assert 1 < np.abs(after.astype(int) - pictures).mean() < 128
    assert np.array_equal(after, corrupt(pictures, name))


def motion_blur(image, angle, radius, sigma):
    """As the published package imagenet_c has it without ImageMagick: shifts of the whole image."""
    weights = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * sigma**2))
    total = np.zeros_like(image)
    for i, weight in enumerate(weights / weights.sum()):
        down, right = (-np.ceil(i * f(np.radians(angle)) - 0.5) for f in (np.sin, np.cos))
        total += weight * ndimage.shift(image, (down, right, 0), order=0, mode="nearest")
    return total


def clipped_zoom(image, factor):
    """As make_cifar_c.py has it."""
    crop = int(np.ceil(32 / factor))
    top = (32 - crop) // 2
    image = ndimage.zoom(image[top : top + crop, top : top + crop], (factor, factor, 1), order=1)
    trim = (image.shape[0] - 32) // 2
    return image[trim : trim + 32, trim : trim + 32]


def test_blurs_are_those_of_one_image(pictures):
    x = pictures / 255
    for angle in (-45.0, 10.0, 45.0):
        ours = corruptions._motion_blur(x, np.random.default_rng(0), 9, 2.5, angle, angle)
        np.testing.assert_allclose(ours[2], motion_blur(x[2], angle, 9, 2.5), atol=1e-12)
    factors = np.arange(1, 1.26, 0.01)
    theirs = (x[1] + sum(clipped_zoom(x[1], factor) for factor in factors)) / (len(factors) + 1)
    ours = corrupt(pictures, "zoom_blur")[1]
    assert np.abs(ours - 255 * np.clip(theirs, 0, 1)).max() < 1.001
    still = corruptions._elastic_transform(x, np.random.default_rng(0), 0, 1, 0)
    np.testing.assert_allclose(still, x, atol=1e-12)
    # A disc of radius 1.5 about a pixel has all of its 9 neighbours, by cv2's border.
    kernel = np.full((3, 3, 1), 1 / 9)
    theirs = 255 * ndimage.convolve(x[0], kernel, mode="mirror")
    assert np.abs(corrupt(pictures, "defocus_blur")[0] - theirs).max() < 1.001


def test_simple_corruptions_are_their_formulas(pictures):
    x = pictures / 255
    means = x.mean((1, 2), keepdims=True)
    dull = 255 * ((x - means) * 0.15 + means)
    np.testing.assert_allclose(corrupt(pictures, "contrast"), dull, atol=1)
    # Of a pixel the largest colour is its value in HSV.
    brighter = corrupt(pictures, "brightness").max(-1)
    np.testing.assert_allclose(brighter, 255 * np.minimum(x.max(-1) + 0.3, 1), atol=1)
    grey = np.full((40, 32, 32, 3), 128, np.uint8)
    assert (corrupt(grey, "gaussian_noise") / 255).std() == pytest.approx(0.1, rel=0.02)
    assert (corrupt(grey, "impulse_noise") != 128).mean() == pytest.approx(0.07, rel=0.05)
    draw = np.random.default_rng(1)
    rough, smooth = (corruptions._plasma_fractal(50, draw, decay) for decay in (1.2, 3.0))
    assert rough.min() == smooth.min() == 0 and rough.max() == smooth.max() == 1
    # Neighbours are alike, and the more so the faster the roughness falls.
    rough, smooth = (np.abs(np.diff(maps, axis=1)).mean() for maps in (rough, smooth))
    assert smooth < rough / 2


@pytest.mark.parametrize("packed", [True, False])
def test_fashion_mnist_is_padded_and_grey(tmp_path, packed):
    settings = fashion_mnist(tmp_path, packed=packed)
    pixels, labels = images.fashion_mnist(settings, "t10k")
    assert pixels.shape == (60, 32, 32, 3) and labels.shape == (60,)
    assert not pixels[:, :2].any() and not pixels[:, :, -2:].any()
    assert (pixels[np.arange(60), 2 * labels.astype(int) + 6, 2:-2] == 255).all()
    streams = images.corruption_streams(settings, 5)
    assert [*streams] == ["clean", *SCORED, *EXTRA]
    assert np.array_equal(streams["fog"][1], labels[:5])
    assert np.array_equal(streams["spatter"][1], labels[-5:])
    assert np.array_equal(streams["snow"][0], corrupt(pixels[:5], "snow"))


def test_cifar_10_c_is_its_last_severity(tmp_path):
    settings, clean, labels = cifar_10_c(tmp_path)
    streams = images.corruption_streams(settings, 2)
    assert np.array_equal(streams["clean"][0], clean[:2])
    assert all((streams[name][0] == 50).all() for name in {**SCORED, **EXTRA})
    assert np.array_equal(streams["saturate"][1], labels[-2:])


def _cut(path):
    path.write_bytes(path.read_bytes()[:-1000])


WHOLE = 20, 32, 32, 3


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("fog.npy", None, "there is no such file"),
        ("snow.npy", "cut", "no .npy of CIFAR-10-C, or cut short"),
        ("frost.npy", np.array([{}, None]), "no .npy"),
        ("fog.npy", np.zeros((20, 8), np.uint8), "no .npy"),
        ("fog.npy", np.zeros(WHOLE), f"(it holds float64 of shape {WHOLE}, not {WHOLE})"),
        ("fog.npy", np.zeros((4, 32, 32, 3), np.uint8), f"of shape (4, 32, 32, 3), not {WHOLE})"),
        ("labels.npy", np.arange(4, dtype=np.uint8), "no .npy of CIFAR-10-C"),
        ("contrast.npy", np.zeros(WHOLE, np.uint8), "its SHA-256 is"),
        ("labels.npy", np.ones(20, np.uint8), "have other labels"),
        ("test_batch.bin", "cut", "no test_batch.bin"),
    ],
)
def test_damaged_files_of_cifar_are_refused(tmp_path, name, content, said):
    settings, *_ = cifar_10_c(tmp_path)
    settings["sha256"] = {"contrast.npy": sha256(tmp_path / "contrast.npy")}
    if content is None:
        (tmp_path / name).unlink()
    elif isinstance(content, str):
        _cut(tmp_path / name)
    else:
        np.save(tmp_path / name, content, allow_pickle=True)
    with pytest.raises(OrlaError, match=re.escape(said)) as error:
        images.corruption_streams(settings, 2)
    assert "\n" not in str(error.value) and (name in str(error.value) or "labels" in said)


def test_wrong_settings_and_damaged_files_of_fashion_mnist_are_refused(tmp_path):
    settings, path = fashion_mnist(tmp_path), tmp_path / "t10k-images-idx3-ubyte.gz"
    sums = settings["sha256"]
    for count, change, words in (
        # The images that rates are chosen on are others than those that are scored.
        (31, {}, r'"vision\.scored" is 31 of 60 images; at most half'),
        (3, {"folder": str(tmp_path / "none")}, "there is no such file"),
        (3, {"sha256": sums | {path.stem: "0"}}, "its SHA-256, unpacked, is"),
        (3, {"sha256": sums | {"fogg.npy": "0"}}, r'cannot be "fogg\.npy"; the nearest is "fog'),
    ):
        with pytest.raises(OrlaError, match=words):
            images.corruption_streams(settings | change, count)
    _cut(path)
    with pytest.raises(OrlaError, match="no file of Fashion-MNIST"):
        images.corruption_streams(settings, 3)

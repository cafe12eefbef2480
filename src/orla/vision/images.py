"""Images to classify: Fashion-MNIST under our corruptions, or CIFAR-10-C from its files."""

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.files import read_file, require_sha256, reraise_in_one_line
from orla.schema import require_one_of
from orla.vision.corruptions import EXTRA, SCORED, SIZE, corrupt

LabelledImages = tuple[np.ndarray, np.ndarray]
# Images by the config's word -> what a reader calls them.
LABELS = {"fashion-mnist": "Fashion-MNIST, corrupted", "cifar-10-c": "CIFAR-10-C"}
_MEND = "get it as docs/vision.md says"
_IDX = ("images-idx3-ubyte", "labels-idx1-ubyte")
# Files whose sums a config may give, of either kind.
_NAMES = [f"{part}-{name}" for part in ("train", "t10k") for name in _IDX]
_NAMES += ["test_batch.bin", *(f"{name}.npy" for name in ("labels", *SCORED, *EXTRA))]


def fashion_mnist(settings: Mapping[str, Any], part: str) -> LabelledImages:
    """Images (n, 32, 32, 3), uint8, three equal channels, and labels (n,): "train" or "t10k".

    OrlaError: a file is missing, damaged, or not the one whose SHA-256 (unpacked) is given.
    """
    pixels, labels = (_idx_array(settings, f"{part}-{name}") for name in _IDX)
    if pixels.shape != (len(labels), 28, 28):
        raise OrlaError(
            f"{settings['folder']}: images of {part} are {pixels.shape} and its labels "
            f"{labels.shape}, not (n, 28, 28) and (n,); {_MEND}"
        )
    images = np.pad(pixels, ((0, 0), (2, 2), (2, 2)))
    return np.repeat(images[..., None], 3, -1), labels


def _idx_array(settings: Mapping[str, Any], name: str) -> np.ndarray:
    """The array of bytes of a file in the IDX format, packed by gzip or not."""
    path = Path(settings["folder"], name)
    path = path if path.exists() else path.with_name(f"{name}.gz")
    with reraise_in_one_line(path, "no file of Fashion-MNIST", _MEND):
        data = read_file(path) if path.name == name else gzip.decompress(read_file(path))
        if (digest := hashlib.sha256(data).hexdigest()) != settings.get("sha256", {}).get(name):
            raise OrlaError(f"{path}: its SHA-256, unpacked, is {digest}; {_MEND}")
        if data[:3] != b"\0\0\x08":  # two zeros and the type of bytes, before how many axes
            raise ValueError("it is no IDX file of bytes")
        shape = np.frombuffer(data, ">u4", axes := data[3], offset=4)
        return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _cifar_file(settings: Mapping[str, Any], name: str) -> Path:
    digest = settings.get("sha256", {}).get(name)
    return require_sha256(Path(settings["folder"], name), digest, _MEND)


def _cifar_10_test_images(settings: Mapping[str, Any]) -> LabelledImages:
    """CIFAR-10's test images from its binary version: a label, then the planes of the colours."""
    path = _cifar_file(settings, "test_batch.bin")
    with reraise_in_one_line(path, "no test_batch.bin of CIFAR-10", _MEND):
        rows = np.frombuffer(read_file(path), np.uint8).reshape(-1, 1 + 3 * SIZE**2)
        images, labels = rows[:, 1:].reshape(-1, 3, SIZE, SIZE).transpose(0, 2, 3, 1), rows[:, 0]
    if not np.array_equal(_read_severity_5(settings, "labels", labels), labels):
        raise OrlaError(f"{path.parent}: labels.npy and test_batch.bin have other labels; {_MEND}")
    return images, labels


def _read_severity_5(settings: Mapping[str, Any], name: str, clean: np.ndarray) -> np.ndarray:
    """The last fifth of an .npy of CIFAR-10-C, which is severity 5, of what is `clean` (n, ...)."""
    path = _cifar_file(settings, f"{name}.npy")
    with reraise_in_one_line(path, "no .npy of CIFAR-10-C, or cut short", _MEND):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        shape = (5 * len(clean), *clean.shape[1:])
        if array.dtype != np.uint8 or array.shape != shape:
            raise ValueError(f"it holds {array.dtype} of shape {array.shape}, not {shape}")
        return array[-len(clean) :]


def corruption_streams(settings: Mapping[str, Any], count: int) -> dict[str, LabelledImages]:
    """Images and labels by corruption, `count` of each.

    The first test images for `SCORED` and "clean", the last ones for `EXTRA`. OrlaError where files
    are not as told, or have less than twice `count`.
    """
    for name in settings.get("sha256", {}):
        require_one_of("vision.images.sha256", name, _NAMES)
    cifar = settings["kind"] == "cifar-10-c"
    images, labels = _cifar_10_test_images(settings) if cifar else fashion_mnist(settings, "t10k")
    if 2 * count > len(labels):
        raise OrlaError(
            f'config: "vision.scored" is {count} of {len(labels)} images; at most half, since rates'
            " are chosen on the others"
        )
    by_name = {"clean": (images[:count], labels[:count])}
    for part, names in ((slice(count), SCORED), (slice(-count, None), EXTRA)):
        for name in names:
            x = (
                _read_severity_5(settings, name, images)[part]
                if cifar
                else corrupt(images[part], name)
            )
            by_name[name] = x, labels[part]
    return by_name

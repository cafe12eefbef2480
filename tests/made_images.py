"""Small stand-ins for Fashion-MNIST and CIFAR-10-C, in the format of their files."""

import gzip
import hashlib
import struct

import numpy as np

from orla.vision.corruptions import EXTRA, SCORED


def fashion_mnist(folder, train=300, test=60, packed=True):
    """Write the four files; the config's images. A label's images are bright in one row of 28."""
    rng, sums = np.random.default_rng(0), {}
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("t10k", test)):
        labels = rng.integers(0, 10, count).astype(np.uint8)
        images = rng.integers(0, 60, (count, 28, 28)).astype(np.uint8)
        images[np.arange(count), 2 * labels + 4] = 255
        for name, array, magic in (("images-idx3", images, 2051), ("labels-idx1", labels, 2049)):
            data = struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.tobytes()
            sums[f"{part}-{name}-ubyte"] = hashlib.sha256(data).hexdigest()
            path = folder / (f"{part}-{name}-ubyte" + ".gz" * packed)
            path.write_bytes(gzip.compress(data) if packed else data)
    return {"kind": "fashion-mnist", "folder": str(folder), "sha256": sums}


def cifar_10_c(folder, images=4):
    """Write 19 files of five severities, labels and test_batch.bin; the config's images.

    Severity s of a corruption holds the number 10 s.
    """
    folder.mkdir(parents=True, exist_ok=True)
    labels = np.arange(images, dtype=np.uint8) % 10
    clean = np.random.default_rng(1).integers(0, 256, (images, 32, 32, 3), dtype=np.uint8)
    severities = np.repeat(np.arange(10, 60, 10, dtype=np.uint8), images)
    for name in {**SCORED, **EXTRA}:
        shape = (5 * images, 32, 32, 3)
        np.save(folder / f"{name}.npy", np.broadcast_to(severities[:, None, None, None], shape))
    np.save(folder / "labels.npy", np.tile(labels, 5))
    planes = clean.transpose(0, 3, 1, 2).reshape(images, -1)
    (folder / "test_batch.bin").write_bytes(np.hstack([labels[:, None], planes]).tobytes())
    return {"kind": "cifar-10-c", "folder": str(folder)}, clean, labels

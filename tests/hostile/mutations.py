"""Mutations of small valid files: each is a tuple of its kind and numbers or words, and repeatable.

`STRATEGIES` draws them for a form of file; `apply` does one to a file.
"""

import datetime
import io
import json
import os
import struct
import zipfile
from pathlib import Path

import h5py
import numpy as np
import yaml
from hypothesis import strategies as st

AT = st.integers(0, 2**20)
NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e308, 2.0**63, 3e5]
DTYPES = ["f2", "f4", ">f8", "i1", "u8", "c16", "?", "S5", "str", "O", "V", "ref", "M8[s]", "f16"]
LINKS = ["dangling", "self", "root", "external", "missing", "raw", "virtual", "other"]
HUGE = ["unallocated", "bytes", "packed", "long"]
PLACES = ["fifo", "folder", "zero", "dangling", "loop", "empty", "sparse", "text", "other"]

# --- any file


def bytes_of(kind, path, at, how):
    content = path.read_bytes()
    at %= max(1, len(content))
    before, after = content[:at], content[at:]
    flipped = bytes([after[0] ^ 1 << how % 8]) + after[1:] if after else after
    path.write_bytes(
        {
            "flipped bit": before + flipped,
            "zeros": before + bytes(len(after[:64])) + after[64:],
            "cut short": before,
            "text before": b"\n" * (how + 1) + content,
            "text after": content + bytes([how]) * (at % 999 + 1),
        }[kind]
    )


def place_of(path, how):
    content = path.read_bytes()
    path.unlink()
    {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "zero": lambda: path.symlink_to("/dev/zero"),
        "dangling": lambda: path.symlink_to(path.parent / "nowhere"),
        "loop": lambda: path.symlink_to(path),
        "empty": path.touch,
        "sparse": lambda: path.write_bytes(content[: len(content) // 2]),
        "text": lambda: path.write_text("<!DOCTYPE html>"),
        "other": lambda: path.write_bytes(b"PK\x03\x04" + content),
    }[how]()
    if how == "sparse":
        os.truncate(path, 8 << 30)


BYTES = st.tuples(
    st.sampled_from(["flipped bit", "zeros", "cut short", "text before", "text after"]),
    AT,
    st.integers(0, 255),
)
PLACE = st.tuples(st.just("in its place"), st.sampled_from(PLACES))


def drawn(kind, hows=None, more=None):
    """Mutations of a kind, or of some kinds, at a place, in some ways."""
    kinds = st.sampled_from(kind) if isinstance(kind, list) else st.just(kind)
    return st.tuples(
        kinds, AT, st.sampled_from(hows) if hows else st.none(), st.none() if more is None else more
    )


# --- arrays


def retyped(array, to):
    array = np.asarray(array)
    match to:
        case "str" | "S5":
            return np.full(array.shape, "five", "S5" if to == "S5" else object)
        case "O":
            return np.full(array.shape, None, object)
        case "V":
            return np.zeros(array.shape, [("a", "f8"), ("b", "i4")])
        case "ref":
            return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "biuf":
        array = np.ones(array.shape)
    with np.errstate(all="ignore"):
        return array.astype("i8").astype(to) if to.startswith("M8") else array.astype(to)


SHAPES = {
    "turned": np.transpose,
    "deeper": lambda array: array[..., None],
    "one": lambda array: array.flat[0] if array.size else array.reshape(-1),
    "empty": lambda array: array.reshape(-1)[:0],
    "none": lambda array: np.zeros((0,) * max(1, array.ndim), array.dtype),
    "shorter": lambda array: array[:-1] if array.ndim else array,
    "longer": lambda array: np.concatenate([array, array[-1:]]) if array.ndim else array[None],
    "flat": np.ravel,
    "wide": lambda array: np.stack([array] * 3, axis=-1),
}


def valued(array, at, value):
    array = np.array(array)
    if not array.size or array.dtype.kind not in "biuf":
        return array
    if array.dtype.kind in "bi":
        array = array.astype("f8")
    with np.errstate(all="ignore"):
        array.flat[at % array.size] = value
    return array


# --- HDF5


def hdf5(path, kind, at, how, more):
    with h5py.File(path, "r+") as file:
        names = []
        file.visit(names.append)
        data = [n for n in names if isinstance(file.get(n), h5py.Dataset)]
        name = (data if kind not in _ANY else names)[at % len(data if kind not in _ANY else names)]
        item = file[name]
        held = (item[()], dict(item.attrs)) if isinstance(item, h5py.Dataset) else None
        match kind:
            case "deleted":
                del file[name]
            case "renamed":
                file.move(name, name + "_")
            case "swapped":
                other = names[more % len(names)]
                if not (other.startswith(name) or name.startswith(other)):
                    file.move(name, "swap")
                    file.move(other, name)
                    file.move("swap", other)
            case "attribute":
                if keys := sorted(item.attrs):
                    attribute(item, keys[more % len(keys)], how)
            case "another kind":
                del file[name]
                if held:
                    file.create_group(name)
                else:
                    file[name] = np.arange(3.0)
            case "link":
                link(file, name, how, path)
            case "twice":
                other = names[more % len(names)]
                if name != other and not name.startswith(other) and not other.startswith(name):
                    del file[name]
                    file[name] = file[other]
            case "huge":
                del file[name]
                huge(file, name, how, held)
            case "references":
                references(file, name, how, more, names)
            case _:
                rewritten(file, name, kind, how, more, *held)


_ANY = {"deleted", "renamed", "swapped", "attribute", "another kind", "link", "twice"}


def rewritten(file, name, kind, how, more, values, about):
    values = np.asarray(values)
    if kind == "kind of number" and how == "ref":
        values = np.full(values.shape, file.ref, h5py.ref_dtype)
    elif values.dtype.kind == "O" and kind == "value":
        return
    else:
        change = {"kind of number": retyped, "shape": lambda array, to: SHAPES[to](array)}.get(kind)
        values = change(values, how) if change else valued(values, more, how)
    del file[name]
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        refs = values.size and isinstance(values.flat[0], h5py.Reference)
        text = h5py.ref_dtype if refs else h5py.string_dtype()
        if not refs:
            words = [x if isinstance(x, (str, bytes)) else "None" for x in values.ravel()]
            values = np.array(words, object).reshape(values.shape)
        file.create_dataset(name, data=values, dtype=text)
    elif getattr(values, "dtype", None) is not None and values.dtype.kind == "M":
        file.create_dataset(name, data=values.astype("i8"))
    else:
        file.create_dataset(name, data=values)
    described(file[name], about)


VALUES = {
    "text": "five",
    "nan": np.nan,
    "list": np.arange(7),
    "empty": h5py.Empty("f8"),
    "bytes": np.bytes_(b"\xff\xfe"),
    "long": "x" * 60_000,
}


def attribute(item, key, how):
    if how == "gone":
        del item.attrs[key]
    else:
        item.attrs[key] = VALUES[how]


def link(file, name, how, path):
    shape = getattr(file[name], "shape", (3,)) or (1,)
    if how == "external":
        beside = path.with_suffix(".beside")
        with h5py.File(beside, "w") as other:
            file.copy(name, other, "x")
    del file[name]
    match how:
        case "dangling":
            file[name] = h5py.SoftLink("/nowhere")
        case "self":
            file[name] = h5py.SoftLink("/" + name)
        case "root":
            file[name] = file["/"]
        case "external":
            file[name] = h5py.ExternalLink(beside.name, "/x")
        case "missing":
            file[name] = h5py.ExternalLink("/etc/passwd", "/x")
        case "raw":
            size = max(8, int(np.prod(shape)) * 8)
            file.create_dataset(name, shape, "f8", external=[("/dev/zero", 0, size)])
        case "virtual":
            layout = h5py.VirtualLayout(shape, "f8")
            layout[...] = h5py.VirtualSource("/etc/hosts", "x", shape)
            file.create_virtual_dataset(name, layout)
        case "other":
            file[name] = h5py.SoftLink("/" + sorted(file)[0])


def huge(file, name, how, held):
    values, about = held
    rank = max(1, np.ndim(values))
    thin, pairs, chunks = (1,) * (rank - 1), (2,) * (rank - 1), (1,) * (rank - 1) + (1000,)
    shape, dtype, options = {
        "unallocated": ((*pairs, 10**12), "f8", {"chunks": chunks}),
        "bytes": ((*thin, 10**9), "i1", {"chunks": chunks}),
        "packed": ((*thin, 2 * 10**8), "f4", {"chunks": (*thin, 10**6), "compression": 9}),
        "long": ((10**9, *pairs), "f8", {"chunks": True}),
    }[how]
    file.create_dataset(name, shape, dtype, **options)
    described(file[name], about)


def described(item, about):
    for key, value in about.items():
        if not (isinstance(value, np.ndarray) and value.dtype.kind == "O"):
            item.attrs[key] = value


def references(file, name, how, more, names):
    values = np.asarray(file[name][()])
    if values.dtype.kind != "O" or not isinstance(values.flat[0], h5py.Reference):
        return
    at = more % values.size
    values.flat[at] = {
        "null": h5py.Reference(),
        "group": file["/"].ref,
        "same": values.flat[0],
        "other": file[names[more % len(names)]].ref,
    }[how]
    file[name][...] = values


HDF5 = st.one_of(
    BYTES,
    PLACE,
    drawn(["deleted", "renamed", "swapped", "another kind", "twice"], more=AT),
    drawn("attribute", ["gone", *VALUES], AT),
    drawn("link", LINKS),
    drawn("huge", HUGE),
    drawn("references", ["null", "group", "same", "other"], AT),
    drawn("kind of number", DTYPES),
    drawn("shape", [*SHAPES]),
    drawn("value", NUMBERS, AT),
)

# --- .npz


def npz(path, kind, at, how, more):
    with np.load(path, allow_pickle=True) as file:
        arrays = {name: file[name] for name in file.files}
    names = sorted(arrays)
    name = names[at % len(names)]
    match kind:
        case "kind of number":
            arrays[name] = retyped(arrays[name], how)
        case "shape":
            arrays[name] = SHAPES[how](arrays[name])
        case "value":
            arrays[name] = valued(arrays[name], more, how)
        case "deleted":
            del arrays[name]
        case "renamed":
            arrays[how or "extra"] = arrays.pop(name)
        case "swapped":
            other = names[more % len(names)]
            arrays[name], arrays[other] = arrays[other], arrays[name]
    with zipfile.ZipFile(path) as old:
        comment = old.comment
    members = {n: npy(a) for n, a in arrays.items()}
    if kind == "header":
        members[name] = header(arrays[name], how)
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = comment
        for member, content in members.items():
            archive.writestr(f"{member}.npy", content)
        if kind == "member":
            member_of(archive, name, members[name], how)
    if kind == "directory":
        directory(path, at, how)


def npy(array):
    with io.BytesIO() as buffer:
        np.save(buffer, array)
        return buffer.getvalue()


def header(array, how):
    about = {
        "huge": "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "large": "{'descr': '<f8', 'fortran_order': False, 'shape': (240000000,), }",
        "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3), }",
        "fortran": f"{{'descr': '<f8', 'fortran_order': True, 'shape': {np.shape(array)}, }}",
        "deep": "(" * 3000 + ")" * 3000,
        "code": "__import__('os').system('true')",
        "long": "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': '" + "y" * 65000,
        "pickled": "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "nothing": "",
        "empty": "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999999), }",
    }[how].encode()
    about += b" " * (-(len(about) + 10) % 64) + b"\n"
    length = struct.pack("<H", min(len(about), 65535))
    return b"\x93NUMPY\x01\x00" + length + about + np.asarray(array).tobytes()


def member_of(archive, name, content, how):
    match how:
        case "twice":
            archive.writestr(f"{name}.npy", content[:-8] + bytes(8))
        case "twice in two names":
            archive.writestr(name, content[:-8] + bytes(8))
        case "outside":
            archive.writestr("../../outside.npy", content)
        case "no array":
            archive.writestr("notes.txt", b"hello")
        case "many":
            for i in range(3000):
                archive.writestr(f"m{i}", b"")
        case "bomb":
            with archive.open(zipfile.ZipInfo("bomb.npy"), "w", force_zip64=True) as file:
                file.write(npy(np.zeros(1))[:128])


# Of a member's entry in the directory of a zip: where, and what stands there.
ENTRY = {
    "encrypted": (8, b"\x01"),
    "method": (10, b"\x63"),
    "smaller": (24, struct.pack("<I", 130)),
    "larger": (24, struct.pack("<I", 0x7FFFFFFF)),
    "offset": (42, struct.pack("<I", 7)),
    "checksum": (16, b"\x00\x00"),
}


def directory(path, at, how):
    content = bytearray(path.read_bytes())
    entries = [i for i in range(len(content)) if content[i : i + 4] == b"PK\x01\x02"]
    place, new = ENTRY[how]
    place += entries[at % len(entries)]
    content[place : place + len(new)] = new
    path.write_bytes(bytes(content))


HEADERS = ["huge", "large", "negative", "fortran", "deep", "code", "long", "pickled", "nothing"]
MEMBERS = ["twice", "twice in two names", "outside", "no array", "many", "bomb"]
NPZ = st.one_of(
    BYTES,
    PLACE,
    drawn("kind of number", DTYPES),
    drawn("shape", [*SHAPES]),
    drawn("value", NUMBERS, AT),
    drawn(["deleted", "swapped"], more=AT),
    drawn("renamed", ["x", "../up", "é", "a" * 300]),
    drawn("header", [*HEADERS, "empty"]),
    drawn("member", MEMBERS),
    drawn("directory", [*ENTRY]),
)

# --- YAML

NODES = {
    "nothing": None, "true": True, "-1": -1, "0": 0, "0.5": 0.5, "10^30": 10**30, "nan": np.nan,
    "inf": np.inf, "-inf": -np.inf, "no text": "", "long": "x" * 10**5, "date": datetime.date.min,
    "list": [], "mapping": {}, "nested": [[{"a": [None]}]], "unknown": {"a": 1}, "NUL": "a\0b",
    "path": "../../../etc/passwd", "bytes": b"\xff", "set": {"a", "b"}, "lists": [1, [2], "c"],
    "line": "a\nb", "tuple": [[0.1, 0.2]], "10^300": 1e300, "2^63": 2**63, "name": "a/b", "-": "-",
    "[inf]": [np.inf], "[nan]": [np.nan], "[0]": [0], "[-1]": [-1.0], "[true]": [True],
    "[10^9]": [10**9], "10^9": 10**9, "surrogate": "\ud800", "braces": "{x}", "star": "<results>",
}  # fmt: skip
KEYS = [1, None, True, 1.5, datetime.date(2026, 1, 1), "", "a.b", "a b", "__class__", "é"]
KEYS += ["x" * 500]
TEXTS = {
    "tab": "\tx: 1\n", "code": "x: !!python/object/apply:os.system ['true']\n", "NUL": "x: \0\n",
    "BOM": "\ufeff", "two": "---\nx: 1\n---\n", "version": "%YAML 9.9\n---\n", "merge": "<<: *x\n",
    "list key": "? [a]\n: 1\n", "braces": "{{\n", "cycle": "x: &x [*x]\n",
    "date": "x: 2026-02-31\n",
    "digits": f"x: {'9' * 5000}\n", "deep": "x: " + "[" * 3000 + "\n", "int": "x: !!int five\n",
    "sexagesimal": "x: 190:20:30\n", "time": "x: 2026-01-01T99:00:00\n", "twice": "x: 1\nx: 2\n",
    "laughs": "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9) if i else 1}]\n"
                      for i in range(9)),
    "merged": "y: &y {a: 1}\nz: {<<: [*y, *y]}\n", "merged cycle": "y: &y {<<: *y}\n",
    "binary": "x: !!binary '?'\n", "float": "x: !!float x\n", "set": "x: !!set {a, b}\n",
    "omap": "x: !!omap [a: 1]\n", "tag": "x: !foo 1\n", "anchor": "x: &a\ny: *b\n",
    "surrogate": 'x: "\\ud800"\n', "null key": "~: 1\n", "equals": "x: =\n", "long": "x" * 10**6,
    "merged twice": "y: &y {a: 1}\n<<: *y\n<<: *y\n", "timestamp": "x: !!timestamp x\n",
}  # fmt: skip


def nodes(document, path=()):
    """Paths of all nodes, in order."""
    yield path
    if isinstance(document, dict):
        for key in document:
            yield from nodes(document[key], (*path, key))
    elif isinstance(document, list):
        for i, each in enumerate(document):
            yield from nodes(each, (*path, i))


def changed(document, kind, at, how, more):
    """The document with one node changed."""
    paths = list(nodes(document))
    path = paths[at % len(paths)]
    if not path:
        return NODES.get(how, document)
    *parents, last = path
    parent = document
    for key in parents:
        parent = parent[key]
    match kind:
        case "node":
            parent[last] = NODES[how]
        case "dropped":
            del parent[last]
        case "key":
            if isinstance(parent, dict):
                parent[KEYS[more % len(KEYS)]] = parent.pop(last)
        case "moved":
            *others, other = paths[1:][more % (len(paths) - 1)]
            place = document
            for key in others:
                place = place[key]
            parent[last] = place[other]
    return document


def as_yaml(path, kind, at, how, more):
    text = path.read_text()
    if kind == "line":
        lines = text.splitlines(keepends=True)
        lines.insert(more % 3 and at % (len(lines) + 1), TEXTS[how])
        text = "".join(lines)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    else:
        document = changed(yaml.safe_load(text), kind, at, how, more)
        path.write_text(yaml.dump(document, sort_keys=False, Dumper=yaml.Dumper))


def as_lines(path, kind, at, how, more):
    """Of a LOCK."""
    lines = path.read_text().splitlines(keepends=True)
    i, j = at % len(lines), more % len(lines)
    match kind:
        case "swapped":
            lines[i], lines[j] = lines[j], lines[i]
        case "deleted":
            del lines[i]
        case "twice":
            lines.insert(j, lines[i])
        case "word":
            words = lines[i].split(" ")
            words[j % len(words)] = how
            lines[i] = " ".join(words)
    path.write_text("".join(lines))


WORDS = ["2026-02-31", "../../etc/passwd.yaml", "chain=", "0" * 64, "x.yaml", "", "\0.yaml"]
WORDS += ["²" * 64]
YAML = st.one_of(
    BYTES,
    PLACE,
    drawn("node", sorted(NODES)),
    drawn(["dropped", "key", "moved"], more=AT),
    drawn("line", sorted(TEXTS), AT),
)
LOCK = st.one_of(
    BYTES, PLACE, drawn(["swapped", "deleted", "twice"], more=AT), drawn("word", WORDS, AT)
)

# --- what a result says of itself

ABOUT = {
    "nothing": None, "list": [1], "text": "x", "inputs": {"inputs": 3}, "keys": {"keys": [1]},
    "outside": {"inputs": {"../../../../etc/passwd": "0"}}, "NUL": {"inputs": {"a\0b": "0"}},
    "empty": {}, "fields": {"fields": {"a": 1}}, "numbers": {"inputs": {"x": 7}},
    "long": {"inputs": {"x" * 5000: "0"}}, "no list": {"fields": [1, 2]},
    "bin": {"fields": {"bin_s": "x", "dataset": [], "categories": None}},
}  # fmt: skip


def about(how, held):
    """JSON in place of a provenance."""
    if how == "deep":
        return "[" * 100_000
    if how == "no JSON":
        return "{"
    if how == "bytes":
        return "\ufffd\0"
    return json.dumps(ABOUT[how])


RESULT = st.one_of(
    BYTES,
    PLACE,
    st.tuples(st.just("provenance"), st.sampled_from([*ABOUT, "deep", "no JSON", "bytes"])),
)


def apply(path: Path, mutation: tuple, form) -> None:
    """Do a mutation to a file; `form` is `hdf5`, `npz`, `as_yaml` or `as_lines`."""
    kind, *rest = mutation
    if kind == "in its place":
        place_of(path, *rest)
    elif kind in ("flipped bit", "zeros", "cut short", "text before", "text after"):
        bytes_of(kind, path, *rest)
    else:
        form(path, kind, *rest)

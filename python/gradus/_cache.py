"""Compiled artifacts by their content: compiling the same model with the same
options twice gives the same bytes, so the second time they are read.

The folder is `$GRADUS_CACHE`, or `gradus/compiled` in the user's cache folder
(`$XDG_CACHE_HOME`, `~/.cache`). It holds `$GRADUS_CACHE_LIMIT` bytes at most
(2 GiB); what was not used for longest goes first.
"""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time

from . import _core, _onnx_files
from ._core import Error
from ._files import PARTIAL, partial_name, regular_file, whole_file

LIMIT = 2 << 30
OF_FILES = ("model", "recipe", "weights")  # options that are known by the content of what they name
OF_CONTENT = OF_FILES + ("data_files", "extra")  # those that are not known by their words
OF_NO_BYTES = "kernel-cache="  # what an option begins with that changes how fast an artifact is made, and nothing in it
ABANDONED = 3600  # seconds after which a file that is being written is one of a process that ended


def folder():
    own = os.environ.get("GRADUS_CACHE")
    if own:
        return own
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "gradus", "compiled")


def key(options):
    """The name of what these options compile to: a hash of all that decides it. None: it cannot be known, as where
    plug-ins take part, or files that the recipe or an option names."""
    if options.get("plugins") or options.get("basis"):
        return None
    if any(text.startswith(("tuning=", "weights-map=")) for text in options.get("extra") or ()):
        return None
    if any(_names_files(text) for text in options.get("overrides") or ()):
        return None
    content = hashlib.sha256()

    def add(*values):
        for value in values:
            data = value if isinstance(value, bytes) else repr(value).encode()
            content.update(len(data).to_bytes(8, "little") + data)

    add(_core.compiler_identity())
    for name in OF_FILES:
        path, data = options.get(name) or (None, None)
        whole = data if data is not None else b"" if path is None else _bytes(path)
        if name == "recipe" and _names_files(whole.decode(errors="replace")):
            return None
        add(name, whole if name != "model" else (os.path.splitext(path or "")[1], hashlib.sha256(whole).hexdigest()))
        if name == "model" and (path or "").endswith(".mlir") and _names_files(whole.decode(errors="replace")):
            return None
        if name == "model" and path is None and _locations_not_given(whole, options.get("data_files")):
            return None
        if name == "model" and path is not None:
            files = _data_files(path, whole)
            if files is None:
                return None
            add(*files)
    add(*_hashes(options.get("data_files") or ()))
    add(sorted((name, value) for name, value in options.items() if name not in OF_CONTENT))
    add([text for text in options.get("extra") or () if not text.startswith(OF_NO_BYTES)])
    return content.hexdigest()


def _locations_not_given(model, given):
    """Whether a model in memory has data in files that are not in memory with it."""
    return not {name.encode() for name, _ in given or ()}.issuperset(_onnx_files.locations(model) or ())


def _hashes(files):
    """[(name, hash)] of data in memory, by as many threads as there are cores: hashlib lets go of Python's lock."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(lambda file: (file[0], hashlib.sha256(file[1]).hexdigest()), files))


def _names_files(text):
    """Whether a recipe, a key of it or a program may name a file: the basis of dim_reduce, also as AutoBoost's document has
    it."""
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False)  # JSON may write the letters of a key as numbers.
    except (ValueError, RecursionError):
        pass
    return "dim_reduce" in text or "pca_mat_path" in text


def _state(path):
    """Size and time of a file; None: it is not there."""
    try:
        state = os.stat(path or "")
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def _bytes(path):
    with regular_file(path) as file:
        return file.read()


def _data_files(path, model):
    """Names and hashes of the files beside an ONNX model that have its weights, each read once; None: they cannot be
    told, or one is not to be opened."""
    if os.path.splitext(path)[1] in (".mlir", ".gradus"):
        return []
    names = _onnx_files.locations(model)
    if names is None:
        return None
    hashes = [_onnx_files.hash_beside(path, name) for name in names]
    return None if None in hashes else list(zip(names, hashes))


def find(name):
    """The path of an artifact, and the diagnostics that were kept with it; None if it is not there."""
    path = os.path.join(folder(), name + ".gradus")
    try:
        with open(_notes(path), encoding="utf-8") as file:
            diagnostics = json.load(file)
        os.utime(path)
    except (OSError, ValueError):
        return None
    return path, diagnostics


@contextlib.contextmanager
def written(name):
    """The path of an empty file to write the artifact to, in the cache's folder, from which `keep` takes it; in another one
    if `name` is None, or the folder cannot be written. It is removed at the end, if it is still there."""
    path = _empty_file(name) if name else None
    if path is None:
        number, path = tempfile.mkstemp(prefix="gradus.", suffix=".gradus")
        os.close(number)
    try:
        yield path
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _empty_file(name):
    path = partial_name(os.path.join(folder(), name + ".gradus"))
    try:
        os.makedirs(folder(), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return None
    return path


def has_room(options):
    """Whether the cache's folder has room for the artifact of what is compiled: its weights, their states, and code."""
    given = [len(each) for _, each in options.get("data_files") or ()]
    for source in OF_FILES:
        path, content = options.get(source) or (None, None)
        given.append(len(content) if content is not None else (_state(path) or (0, 0))[0])
    return shutil.disk_usage(folder()).free > 4 * sum(given) + (64 << 20)


def keep(name, written_path, diagnostics):
    """Takes an artifact that was `written`; its path, or None if that cannot be. Nobody waits until it is on the disk: one that
    a crash of the machine has damaged is refused when it is loaded, and compiled anew."""
    path = os.path.join(folder(), name + ".gradus")
    try:
        os.replace(written_path, path)
        with whole_file(_notes(path), synced=False) as file:
            file.write(json.dumps(diagnostics).encode())
        _shrink(keep=path)
    except (Error, OSError):
        return None
    return path


def _shrink(keep):
    """Removes artifacts, each with its diagnostics, until the rest is below the limit; and what processes that ended
    have left half written."""
    limit = int(os.environ.get("GRADUS_CACHE_LIMIT") or LIMIT)
    entries = []
    for entry in os.scandir(folder()):
        try:
            state = entry.stat()
            if entry.name.endswith(PARTIAL) and time.time() - state.st_mtime > ABANDONED:
                os.unlink(entry.path)
            elif entry.name.endswith(".gradus"):
                notes = _state(_notes(entry.path)) or (0, 0)
                entries.append((state.st_mtime_ns, state.st_size + notes[0], entry.path))
        except FileNotFoundError:
            pass  # another process removed it
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            return
        if path != keep:
            for file in (path, _notes(path)):
                try:
                    os.unlink(file)
                except FileNotFoundError:
                    pass
            total -= size


def _notes(path):
    """The file that has the diagnostics of an artifact."""
    return path[: -len("gradus")] + "json"

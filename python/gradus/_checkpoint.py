"""The checkpoint of a `fit`: its state, what is noted beside it, and whose file it is."""

import json
import os

from . import _safetensors
from ._core import FailedError, InvalidError
from ._files import verify_place, whole_file


class Checkpoint:
    """A file that one run writes again and again. What another one wrote there meanwhile is not written over."""

    def __init__(self, path, what):
        self.path, self.seen = os.fspath(path), None
        verify_place(self.path, what)
        if not self.path.endswith(".safetensors"):
            raise InvalidError(f"{what}: {self.path}: a checkpoint is a file of safetensors: expected a name that ends in .safetensors")

    def begin(self):
        """Says that from now on what stands there is this run's own, or may be replaced by it."""
        self.seen = _signature(self.path)

    def is_there(self):
        return os.path.isfile(self.path) and os.path.getsize(self.path) > 0

    def save(self, step, noted):
        """Writes the state of a step and what `fit` goes on with. Where something else has written the file since this
        run did, they get another name, and FailedError says which."""
        if _signature(self.path) != self.seen:
            free = _free_name(self.path)
            write(step, free, noted)
            raise FailedError(f"{self.path}: something else wrote it during this run, and it is left as it is; the state of this run "
                              f"is in {free}, from which resume={free!r} goes on")
        write(step, self.path, noted)
        self.begin()


def _signature(path):
    """What tells a file from another one of its name; None: there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _free_name(path):
    base, number = os.path.splitext(path)[0], 2
    while os.path.lexists(f"{base}.{number}.safetensors"):
        number += 1
    return f"{base}.{number}.safetensors"


def best_name(path):
    return os.path.splitext(path)[0] + ".best.safetensors"


def notes_name(path):
    return os.path.splitext(path)[0] + ".fit.json"


def _hash(path):
    return _safetensors.metadata(path).get("content_hash")


def _notes(path):
    """What `fit` noted beside a checkpoint, by the hash of the state that it belongs to."""
    try:
        with open(notes_name(path), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def write(step, path, noted):
    """Writes a state and its notes. At each moment the notes have an entry for the state that is there: that of the old
    one stays until the new one is in its place."""
    whole = f"{path}.gradus-state"
    try:
        step.save_checkpoint(whole)
        new, old = _hash(whole), _hash(path) if os.path.exists(path) else None
        notes = {new: noted, **{name: each for name, each in _notes(path).items() if name == old != new}}
        with whole_file(notes_name(path), "w", encoding="utf-8") as file:
            json.dump(notes, file)
        os.replace(whole, path)
    finally:
        if os.path.exists(whole):
            os.unlink(whole)


def read(path, loop):
    """What is noted of the run that wrote a checkpoint, by `fit` beside it or by `gradus train` inside."""
    if not os.path.exists(path):
        raise InvalidError(f"{path}: there is no such checkpoint")
    noted = _notes(path).get(_hash(path)) or _noted_by_the_command(path, loop)
    if noted is None or "figures" not in noted:
        beside = notes_name(path)
        found = "is of another state" if os.path.exists(beside) else "is not there"
        raise InvalidError(f"{path}: nothing says which epoch it is in: {beside}, which fit writes beside each of its checkpoints, {found}, and "
                           "`gradus train` noted nothing in it. step.resume(path) takes its state, and fit then begins with epoch 1")
    if noted["seed"] != loop.seed:
        raise InvalidError(f"{path}: was trained with seed={noted['seed']}, found seed={loop.seed}")
    if noted.get("validation") != loop.part:
        raise InvalidError(f"{path}: was trained with validation={noted.get('validation')}, found validation={loop.part}: it has "
                           "seen samples that would be tested on, or not those that are trained on")
    return noted


def other_data(noted, data):
    """How the data of a run differ from those that it began with, in words."""
    words = []
    for name, what, be in (("samples", "a number of samples of", "it is"), ("batch", "a batch of", "it is")):
        before, now = noted.get(name), getattr(data, name, None)
        if before is not None and now is not None and before != now:
            words.append(f"the checkpoint was trained with {what} {before}, now {be} {now}: this run goes on otherwise than that one would have")
    return words


def _noted_by_the_command(path, loop):
    """What `gradus train` noted in a checkpoint (training/training_record.h), as `fit` notes it; None: nothing."""
    metadata = _safetensors.metadata(path)
    if "training" not in metadata:
        return None
    try:
        record, step = json.loads(metadata["training"]), int(metadata["step"])
        noted = {"seed": record["seed"], "validation": record.get("validation"), "records": [], "best": json.dumps(record.get("best"))}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidError(f"{path}: what `gradus train` noted of its training in it cannot be read") from None
    if (noted["seed"], noted["validation"]) == (loop.seed, loop.part):  # what differs there is told of any checkpoint
        _verify_data(path, record, loop)
    epoch, done = divmod(step, loop.data.full_batches or 1)
    return {**noted, "epoch": epoch, "done": done, "figures": json.dumps(record.get("epoch")) if done else loop.figures.to_json()}


def _verify_data(path, record, loop):
    """Refuses other data than those of a run of `gradus train`."""
    found = tuple(record.get(name) for name in ("samples", "batch", "ranks"))
    expected = getattr(loop.data, "samples", None), loop.data.batch, 1
    if found != expected:
        raise InvalidError(f"{path}: `gradus train` had {found[0]} samples in batches of {found[1]} on {found[2]} ranks, found {expected[0]} "
                           f"samples in batches of {expected[1]}: fit goes on with the same data alone, as files or arrays")
    if not loop.data.shuffle:
        raise InvalidError(f"{path}: `gradus train` shuffled the samples, found shuffle=False: parts of an epoch would be trained twice or never")
    normalized = (loop.step.recipe.get("inputs") or {}).get("normalize") or {}
    if (record.get("normalize") or {}) != normalized:
        raise InvalidError(f"{path}: was trained with inputs.normalize {record.get('normalize') or {}}, and this step has {normalized}")

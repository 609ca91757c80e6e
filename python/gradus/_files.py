"""Files that are read and nothing else, and files that appear at their name whole or not at all."""

import contextlib
import os
import secrets
import stat

from ._core import InvalidError
from ._errors import in_folder

PARTIAL = ".gradus-partial"  # how the names of files end that are being written


def regular_file(path, mode="rb", **options):
    """A file to read. What is there and is none is refused: a pipe waits for its writer, and a device need not end."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise InvalidError(f"{os.fsdecode(path)}: is not a file")
    return open(number, mode, **options)


def partial_name(path):
    """A name beside `path` for what is not yet whole; other processes may write the same file."""
    return f"{path}.{secrets.token_hex(4)}{PARTIAL}"


@contextlib.contextmanager
def whole_file(path, mode="wb", *, synced=True, **options):
    """A file to write, open in `mode`. It takes the place of `path` once the block has ended well, and is on the disk then if
    `synced`."""
    path = os.fspath(path)
    in_folder(path)
    partial = partial_name(path)
    with open(partial, mode.replace("w", "x"), **options) as file:
        try:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise

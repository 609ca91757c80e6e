"""Files that are read and nothing else, and files that appear at their name whole or not at all."""

import contextlib
import os
import secrets
import stat

from ._core import InvalidError
from ._errors import MissingFileError

PARTIAL = ".gradus-partial"  # how the names of files end that are being written


def existing(path):
    """The path, of a file that is there."""
    if not os.path.exists(path):
        raise MissingFileError(os.fspath(path))
    return path


def in_folder(path):
    """The path, of a file to write, whose folder is there."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise MissingFileError(os.fspath(path), f"there is no folder {folder}")
    return path


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


def verify_place(path, what):
    """Refuses a name under which `whole_file` can write nothing: a folder, no file, or one whose folder is not there or
    takes no files."""
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise InvalidError(f"{what}: {path} is a folder, expected the name of a file")
    if os.path.lexists(path) and os.path.exists(path) and not os.path.isfile(path):
        raise InvalidError(f"{what}: {path} is no file, and cannot be replaced by one")
    if not os.path.isdir(folder):
        raise InvalidError(f"{what}: {path} cannot be written: the folder {folder} is not there")
    tried = partial_name(path)
    try:
        os.close(os.open(tried, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
    except (OSError, ValueError) as error:  # a ValueError of a name that no file has
        shown = ascii(path) if isinstance(error, ValueError) else path
        raise InvalidError(f"{what}: {shown} cannot be written: {getattr(error, 'strerror', error)}") from None
    os.unlink(tried)

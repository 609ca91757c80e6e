"""Files that appear at their name whole or not at all."""

import contextlib
import os
import tempfile

PARTIAL = ".gradus-partial"  # how the names of files end that are being written


@contextlib.contextmanager
def whole_file(path, mode="wb", **options):
    """A file to write, open in `mode`. It takes the place of `path` once the block has ended well, and is on the disk then."""
    path = os.fspath(path)
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=os.path.basename(path) + ".", suffix=PARTIAL)
    try:
        with os.fdopen(handle, mode, **options) as file:
            os.fchmod(handle, 0o666 & ~_umask())
            yield file
            file.flush()
            os.fsync(handle)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _umask():
    """The permissions that new files of this process lack."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

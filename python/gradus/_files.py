"""Files that appear at their name whole or not at all."""

import contextlib
import os
import secrets

PARTIAL = ".gradus-partial"  # how the names of files end that are being written


@contextlib.contextmanager
def whole_file(path, mode="wb", **options):
    """A file to write, open in `mode`. It takes the place of `path` once the block has ended well, and is on the disk then."""
    path = os.fspath(path)
    partial = f"{path}.{secrets.token_hex(4)}{PARTIAL}"  # other processes may write the same file
    with open(partial, mode.replace("w", "x"), **options) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise

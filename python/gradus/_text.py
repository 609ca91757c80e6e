"""Texts for the extensions, and JSON. Extensions take UTF-8 alone; Python also has texts with halves of letters in them: it puts
one for each byte of a file's name that is not UTF-8."""

import json
from collections.abc import Mapping

from ._core import InvalidError


def utf8(text):
    """The text with a question mark for each half of a letter."""
    return text.encode("utf-8", "replace").decode("utf-8")


def utf8_json(value):
    """A value as JSON."""
    return utf8(json.dumps(value, ensure_ascii=False))


def json_text(value, where):
    """JSON of a value, which may have numbers of numpy in it."""
    try:
        return json.dumps(value, default=lambda each: each.item())
    except (AttributeError, TypeError, ValueError):
        path, found = _beyond_json(value)
        raise InvalidError(f"{where}{''.join(f': {key}' for key in path)}: expected a number, a text, or lists and dictionaries of them; "
                           f"found {_kind(found)}") from None


def _kind(found):
    return f"the class {found.__name__}" if isinstance(found, type) else f"an object of {type(found).__name__}"


def _beyond_json(value, path=()):
    """The keys down to the first part of a value that has no form in JSON, and that part."""
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, (tuple, list)) else ()
    for key, part in parts:
        if not is_plain(part):
            return _beyond_json(part, (*path, key))
    return path, value


def is_plain(value):
    """Whether a value has a form in JSON."""
    try:
        json.dumps(value, default=lambda each: each.item())
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def is_json(text):
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True

"""Texts for the extensions, which take UTF-8 alone. Python also has texts with halves of letters in them: it puts one
for each byte of a file's name that is not UTF-8."""

import json


def utf8(text):
    """The text with a question mark for each half of a letter."""
    return text.encode("utf-8", "replace").decode("utf-8")


def utf8_json(value):
    """A value as JSON."""
    return utf8(json.dumps(value, ensure_ascii=False))

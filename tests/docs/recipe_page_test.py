"""The page of the recipe's keys says what the schema says, each thing once."""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import ROOT, read

sys.path.insert(0, os.path.join(ROOT, "docs", "reference"))
from recipe_page import Page

RATE = {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "description": "a rate", "default": 0.5, "settable": True}
SIZE = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "description": "a size", "default": None}


def types(**keys):
    """A variant with these keys of its types."""
    return {"anyOf": [{"enum": list(keys)}] + [
        {"type": "object", "required": ["type"], "properties": {"type": {"const": name}, **own}} for name, own in keys.items()]}


def page_of(properties, definitions={}):
    return Page({"properties": properties, "$defs": definitions}).text()


def keys_in(form):
    """The names of all keys in a form."""
    for key, part in form.get("properties", {}).items():
        yield key
        yield from keys_in(part)
    inside = [form.get("items"), form.get("additionalProperties"), *form.get("anyOf", [])]
    for part in inside:
        if isinstance(part, dict):
            yield from keys_in(part)


class RecipePage(unittest.TestCase):
    def test_a_row_has_values_default_and_whether_it_is_settable(self):
        page = page_of({"rate": RATE, "size": SIZE})
        self.assertIn("| `rate` | number, at least 0, below 1 | `0.5` | yes | a rate |", page)
        self.assertIn("| `size` | integer, at least 1; null | `null` | | a size |", page)

    def test_types_with_the_same_key_share_a_row(self):
        page = page_of({"moves": {**types(a={"rate": RATE}, b={"rate": RATE, "size": SIZE}, c={"rate": SIZE}), "description": "x"}})
        self.assertIn("| `rate` | all but c | number,", page)
        self.assertIn("| `rate` | c | integer,", page)
        self.assertIn("| `size` | b | integer,", page)

    def test_what_two_keys_share_is_described_at_the_first(self):
        shared = {"$ref": "#/$defs/moves"}
        page = page_of({"first": {**shared, "description": "x"}, "second": {"type": "array", "items": shared, "description": "y"}},
                       {"moves": types(a={"rate": RATE})})
        self.assertEqual(page.count("a rate"), 1)
        self.assertIn("| `second` | list of [`first`](#first) | | | y |", page)

    def test_every_key_of_the_schema_stands_on_it(self):
        schema, page = json.loads(read("docs/reference/recipe.schema.json")), read("docs/reference/recipe.md")
        keys = {key for form in [schema, *schema["$defs"].values()] for key in keys_in(form)} - {"type"}
        self.assertGreater(len(keys), 150)
        self.assertEqual([key for key in sorted(keys) if not re.search(rf"[`.]{re.escape(key)}`", page)], [])


if __name__ == "__main__":
    unittest.main()

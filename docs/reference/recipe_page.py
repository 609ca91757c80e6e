"""Writes the recipe's JSON schema as a page: a table of all keys, and a section for each key that has keys in it."""

import json

HEAD = """# The recipe's keys

Made by `docs/reference/generate` from the table by which Gradus reads recipes (`gradus recipe --schema` prints it as a
[JSON schema](recipe.schema.json), `gradus recipe FILE` a recipe with all defaults). [Training](../training.md) and the pages of
[optimizers](../optimizers.md), [schedules](../schedules.md), [losses](../losses.md), [precision](../precision.md) and
[methods](../methods) say what they do.

* *Values*: what a key may have, and its range. Steps, batches and pixels are counted; a size in bytes is a number or a text such as
  `"2GiB"`; other numbers have no unit, unless the last column names one.
* *Default*: `null` is off, or what the last column says. *With compat* gives the default under the rules of another framework
  (the key [`compat`](#all-keys)).
* *Settable*: the number may be set while training (`gradus train --set KEY=NUMBER`), unless it is 0 in the artifact, which leaves out
  what it would do, or the recipe says `"settable": false`.
* A key inside a key is written with dots: `optimizer.betas.0`. NAME is a name of yours, N an index from 0. Where a key has types, the
  type alone is short for its object, `"optimizer": "sgd"`; a type within a type (`loss.of`, `optimizer.others`) has its own keys.
"""
COLUMNS = ["key", "values", "default", "settable", "meaning"]


def code(value):
    return "`" + json.dumps(value, ensure_ascii=False).replace("|", "\\|") + "`"


def joined(words, last):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" {last} {words[-1]}"


def plural(words):
    return words.replace("number", "numbers", 1).replace("integer", "integers", 1)


def is_variant(form):
    return any("required" in each for each in form.get("anyOf", []))


class Page:
    def __init__(self, schema):
        self.schema = schema
        self.described = set()  # definitions, and (type, key, form) of types

    def definition(self, form):
        return self.schema["$defs"][form["$ref"].split("/")[-1]]

    def forms(self, form):
        """The ways to write a value: those of an `anyOf`, but a variant's types, which are one."""
        if "anyOf" not in form or is_variant(form):
            return [form]
        return [part for each in form["anyOf"] for part in self.forms(each)]

    def section_of(self, reference):
        """The section that describes a shared form: that of the first key which has it."""
        keys = self.schema["properties"]
        return next((key for key in keys if f'"{reference}"' in json.dumps(keys[key])), None)

    def values_of(self, form):
        """What a value may be, in words; keys inside are rows of their own."""
        if "$ref" in form:
            key = self.section_of(form["$ref"])
            is_elsewhere = key and form["$ref"] in self.described
            return f"[`{key}`](#{key})" if is_elsewhere else self.values_of(self.definition(form))
        if is_variant(form):
            return joined([f"`{name}`" for name in form["anyOf"][0]["enum"]], "or")
        if "enum" in form:
            return joined([f"`{name}`" for name in form["enum"]], "or")
        if "const" in form:
            return code(form["const"])
        kind = form.get("type")
        if kind == "array":
            count = f"{form['minItems']} " if "minItems" in form else ""
            return f"list of {count}{plural(self.all_values(form['items']))}"
        if kind in ("number", "integer"):
            return kind + self.range_of(form)
        return {"boolean": "true or false", "string": "text", "object": "object", "null": "null",
                "array": "list"}.get(kind) if isinstance(kind, str) else "size in bytes"

    def range_of(self, form):
        bounds = {"minimum": "at least", "exclusiveMinimum": "more than", "exclusiveMaximum": "below"}
        return "".join(f", {words} {form[bound]:.9g}" for bound, words in bounds.items() if bound in form)

    def all_values(self, form):
        return "; ".join(dict.fromkeys(self.values_of(each) for each in self.forms(form)))

    def row(self, path, form, types=None):
        default = code(form["default"]) if "default" in form else ""
        cells = [f"`{path}`", self.all_values(form).replace("|", "\\|"), default, "yes" if form.get("settable") else "",
                 form["description"].replace("|", "\\|")]
        return cells if types is None else [cells[0], types, *cells[1:]]

    def inside(self, path, form):
        """The rows of the keys within a form, and of the types that it has."""
        rows = []
        for each in self.forms(form):
            if is_variant(each):
                rows += self.variant(path, each)
            elif each.get("type") == "object":
                for key, part in each.get("properties", {}).items():
                    rows += [self.row(path + key, part, "")] + self.inside(f"{path}{key}.", part)
                if isinstance(each.get("additionalProperties"), dict):
                    rows += self.named(f"{path}NAME", each["additionalProperties"])
            elif each.get("type") == "array":
                rows += self.inside(f"{path}N.", each["items"])
            elif "$ref" in each and each["$ref"] not in self.described:
                self.described.add(each["$ref"])
                rows += self.inside(path, self.definition(each))
        return rows

    def named(self, path, form):
        return ([] if form.get("type") == "object" else [self.row(path, form, "")]) + self.inside(path + ".", form)

    def variant(self, path, form):
        """Keys of types: one row for all types that have the same; none where they are described already."""
        names, rows = form["anyOf"][0]["enum"], {}
        keys = {(each["properties"]["type"]["const"], key, json.dumps(part, sort_keys=True))
                for each in form["anyOf"][1:] for key, part in each["properties"].items()}
        if keys <= self.described:
            return []
        self.described |= keys
        for kind in form["anyOf"][1:]:
            for key, part in kind["properties"].items():
                if key != "type":
                    at = rows.setdefault((key, json.dumps(part, sort_keys=True)), (part, []))
                    at[1].append(kind["properties"]["type"]["const"])
        ordered = sorted(rows.items(), key=lambda item: ([key for key, _ in rows].index(item[0][0]), -len(item[1][1])))
        result = []
        for (key, _), (part, types) in ordered:
            result.append(self.row(path + key, part, self.types_in_words(types, names)))
            result += self.inside(f"{path}{key}.", part)
        return result

    def types_in_words(self, types, names):
        others = [name for name in names if name not in types]
        if not others:
            return "all"
        few = f"all but {', '.join(others)}"
        return few if len(others) < len(types) else ", ".join(types)

    def table(self, rows, has_types):
        columns = COLUMNS[:1] + ["types"] * has_types + COLUMNS[1:]
        lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        for row in rows:
            cells = row if has_types else row[:1] + row[2:]
            lines.append("| " + " | ".join(cells).replace("  ", " ") + " |")
        return "\n".join(lines) + "\n"

    def text(self):
        all_keys, sections = [], ""
        for key, form in self.schema["properties"].items():
            cells = self.row(key, form, "")
            rows = self.inside("", form)
            if rows:
                cells[0] = f"[`{key}`](#{key})"
                sections += f"\n## {key}\n\n{form['description'][0].upper()}{form['description'][1:]}.\n\n"
                sections += self.table(rows, any(row[1] for row in rows))
            all_keys.append(cells)
        return HEAD + "\n## All keys\n\n" + self.table(all_keys, False) + sections

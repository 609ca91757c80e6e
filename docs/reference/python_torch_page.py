"""Writes the table of PyTorch's optimizers, schedulers and losses as a page, from the rows by which `gradus.compile` reads them."""

import os
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "python"))
from gradus.torch_ import table  # noqa: E402

HEAD = """# PyTorch's optimizers, schedulers and losses

Made by `docs/reference/generate` from the table by which `gradus.compile` reads objects of PyTorch
([table.py](../../python/gradus/torch_/table.py)). [From PyTorch](../python/from_pytorch.md) says how they are given. Values are always
those of the object. Each class that is taken trains ten steps beside eager PyTorch in
[torch_recipe_test.py](../../tests/python/torch_recipe_test.py).

* *Becomes*: the type in the [recipe](recipe.md); *in the file*: its formula is exported with the model, whose output `loss` it is.
* *Keys*: arguments of PyTorch that the recipe calls something else; others have the same name there. How PyTorch computes
  ({how}) changes nothing.
* A class that is *refused* is an error with these words.
"""


def code(name):
    return f"`{name}`"


def keys(row):
    renamed = []
    for argument, key in row.keys.items():
        names = key if isinstance(key, tuple) else (key,)
        if names != (argument,):
            renamed.append(f"{code(argument)}: {', '.join(map(code, names))}")
    return "; ".join(renamed)


def line(row):
    if row.why:
        return f"| {code(row.name)} | refused | | {row.why} |"
    return f"| {code(row.name)} | {'in the file' if row.exported else code(row.type)} | {keys(row)} | {row.note} |"


def section(title, rows):
    taken = sum(not row.why for row in rows)
    head = f"## {title}\n\n{len(rows)} classes: {taken} taken, {len(rows) - taken} refused.\n\n| class | becomes | keys | |\n|---|---|---|---|\n"
    return head + "\n".join(map(line, rows)) + "\n"


def text():
    parts = [HEAD.format(how=", ".join(map(code, table.HOW))), section("Optimizers", table.OPTIMIZERS),
             section("Schedulers", table.SCHEDULES), section("Losses", table.LOSSES)]
    return "\n".join(parts)

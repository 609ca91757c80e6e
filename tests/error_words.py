#!/usr/bin/env python3
"""Finds the places of the sources that search or compare the words of an error, as
`status.message().find("support")` does. Words are for people, and rewording an error must change nothing else: a
caller that acts on an error asks for its code or kind (runtime/status.h, messages/error_kind.h).

    tests/error_words.py"""

import re

from structure_test import read, sources

# The expressions that give an error's words.
WORDS = (r"(?:(?<=[\w\])])\s*(?:\.|->)\s*(?:message|what|getMessage)\s*\(\s*\)|\bdlerror\s*\(\s*\)|\bstrerror\s*\("
         r"|\btoString\s*\([^;]*?(?:takeError\s*\(\s*\)|std::move\s*\(\s*error\s*\))\s*\))")

# Methods and functions that look into a text.
METHODS = r"(?:r?find\w*|contains\w*|starts_?with\w*|ends_?with\w*|consume_\w+|compare\w*|equals\w*|count|split|substr)"
FUNCTIONS = r"(?:\w*(?:StrContains|StartsWith|EndsWith|ConsumePrefix|ConsumeSuffix)\w*|regex_\w+|strn?(?:str|cmp))"

# Functions that shorten a library's words for display, and decide nothing by them.
SHORTEN = {("messages/json_text.h", "words.find"), ("messages/json_text.h", "words.substr")}


def code(text):
    """The source without its comments, and with texts and line breaks that hold no code."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def variables(text):
    """The names of variables that hold an error's words, also those that a stream writes diagnostics to."""
    names = set(re.findall(rf"\b(\w+)\s*(?:=(?!=)|\(|\{{)[^;=]*?{WORDS}", text))
    for name, value in re.findall(r"\bstd::string (?:const )?(\w+)\s*=\s*([^;]*);", text):
        if set(re.findall(r"\w+", value)) & names:
            names.add(name)
    parsed = set(re.findall(r"\bparse\w*\s*\([^;]*?\b(\w+)\s*\)", text))
    names |= {name for stream, name in re.findall(r"\braw_(?:string|svector)_ostream\s+(\w+)\s*\(\s*(\w+)\s*\)", text)
              if stream in parsed}
    return {name for name in names if not re.search(rf"\b(?:std::)?string\s+{name}\s*\([^;]*\)\s*\{{", text)}


def decisions(text):
    """The places of a source where an error's words are searched or compared, as text."""
    text = code(text)
    holders = "|".join([WORDS] + [rf"\b{re.escape(name)}\b" for name in sorted(variables(text))])
    held = rf"(?:(?:[\w:]+\s*\(\s*)?(?:{holders})(?:\s*\))*)"
    searches = [rf"{held}\s*\.\s*{METHODS}\s*\(", rf"{held}\s*[!=]=(?!=)\s*\"", rf"\"\s*[!=]=\s*{held}",
                rf"\b{FUNCTIONS}\s*\((?:[^;{{}}()]|\([^()]*\))*?(?:{holders})"]
    found = [match for search in searches for match in re.finditer(search, text)]
    return sorted({" ".join(match[0].split()).strip("(.") for match in found})


def places():
    """"path: expression" for each place of the sources."""
    return [f"{path}: {each}" for path in sources(".cpp", ".h") for each in decisions(read(path))
            if (path, each) not in SHORTEN]


if __name__ == "__main__":
    found = places()
    print("\n".join([*found, f"{len(found)} places decide by the words of an error"]))

"""Reads the pages of reports, and asks a browser for what it shows of them."""

import glob
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FREE = {"recipe", "epilogues", "modules", "test"}  # keys of these objects are names of the user's


def gradus(*arguments):
    done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"gradus {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


def reached(text):
    """What a page would load from elsewhere; None if it needs nothing but itself."""
    without = text.replace('"http://www.w3.org/2000/svg"', "")
    return re.search(r"<script[^>]*src|https?:|url\(|@import|fetch\(|XMLHttpRequest|import\(", without)


class Reader(html.parser.HTMLParser):
    """Reads a page: its elements, and where they do not nest."""

    VOID = {"meta", "br", "link", "img", "hr", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.problems = [], []

    def handle_starttag(self, tag, attributes):
        if "src" in dict(attributes) or tag in ("link", "iframe", "object", "img"):
            self.problems.append(f"<{tag}> loads something")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes nothing")


def read_page(path):
    """The text of a page, what is wrong with its elements, and its data."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    reader = Reader()
    reader.feed(text)
    reader.close()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
    return text, reader.problems + reader.open, data


def keys_of(data):
    """All keys of an object and of those in it."""
    if isinstance(data, list):
        return set().union(*map(keys_of, data))
    if not isinstance(data, dict):
        return set()
    return set(data) | set().union(*(keys_of(value) for key, value in data.items() if key not in FREE))


def unknown_keys(data):
    """Those keys of the data of a report that its script does not read."""
    script = ""
    for path in glob.glob(os.path.join(ROOT, "tool", "report", "*.js")) + [os.path.join(ROOT, "tool", "report", "template.html")]:
        with open(path, encoding="utf-8") as file:
            script += file.read()
    return {key for key in keys_of(data) if not re.search(rf"\.{key}\b", script)}


def browser():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def browse(page, *options):
    """Runs a browser on a page; returns what it prints."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               f"--user-data-dir={folder}", *options, "file://" + page], capture_output=True, text=True,
                              timeout=120, check=True).stdout


def shown_words(page):
    """The words that a browser shows, and the links that lead nowhere."""
    body = browse(page, "--dump-dom").split("<main", 1)[1].split("</main>")[0]
    ids, links = re.findall(r' id="([^"]*)"', body), re.findall(r' href="#([^"]*)"', body)
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", "<main" + body))
    return words, [link for link in links if ids.count(link) != 1]


def png_rows(path):
    """The width of a PNG and its rows, as they are stored."""
    with open(path, "rb") as file:
        data = file.read()
    width, height, _, colors = struct.unpack(">IIBB", data[16:26])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    stride = 1 + width * (4 if colors == 6 else 3)
    raw = zlib.decompress(packed)
    return width, [raw[row * stride:(row + 1) * stride] for row in range(height)]

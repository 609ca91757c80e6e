"""The files that the reader of docs/your_own_model.md has: three models, pictures of three classes, a table and a text."""

import math
import os
import random
import struct
import sys
import zlib

from pages import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
from onnx_writer import INT64, Model

CLASSES = {"daisy": (230, 230, 210), "rose": (200, 40, 60), "tulip": (240, 180, 40)}
SIDE = 32


def write_models(folder):
    write_net(os.path.join(folder, "net.onnx"))
    write_table_net(os.path.join(folder, "table.onnx"))
    write_text_net(os.path.join(folder, "text.onnx"))


def write_net(path):
    """A convolution with batch normalization, and the mean of each channel."""
    net = Model()
    x = net.input("image", ["batch", 3, SIDE, SIDE])
    x = net.node("Conv", [x, net.weight("conv.weight", [8, 3, 3, 3]), net.weight("conv.bias", [8])], kernel_shape=[3, 3],
                 strides=[2, 2], pads=[1, 1, 1, 1])
    statistics = [net.weight(f"norm.{name}", [8], value) for name, value in
                  (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0))]
    x = net.node("Relu", [net.node("BatchNormalization", [x, *statistics])])
    x = net.node("Flatten", [net.node("GlobalAveragePool", [x])])
    net.output("logits", dense(net, "head", x, 8, len(CLASSES)), ["batch", len(CLASSES)])
    net.write(path)


def write_table_net(path):
    net = Model()
    x = net.input("features", ["batch", 3])
    x = net.node("Tanh", [dense(net, "hidden", x, 3, 16)])
    net.output("price", dense(net, "head", x, 16, 1), ["batch", 1])
    net.write(path)


def write_text_net(path):
    """The next byte from the last one."""
    net = Model()
    ids = net.input("input_ids", ["batch", 64], INT64)
    x = net.node("Gather", [net.weight("embedding.weight", [256, 32]), ids])
    x = net.node("Relu", [net.node("MatMul", [x, net.weight("hidden.weight", [32, 64])])])
    net.output("logits", net.node("MatMul", [x, net.weight("head.weight", [64, 256])]), ["batch", 64, 256])
    net.write(path)


def dense(net, name, x, inputs, outputs):
    return net.node("Gemm", [x, net.weight(f"{name}.weight", [outputs, inputs]), net.weight(f"{name}.bias", [outputs])],
                    transB=1)


def write_data(folder):
    source = random.Random(7)
    for part, count in (("train", 40), ("test", 10)):
        for name, colour in CLASSES.items():
            os.makedirs(os.path.join(folder, "photos", part, name))
            for number in range(count):
                write_png(os.path.join(folder, "photos", part, name, f"{number:02}.png"), colour, source)
    os.makedirs(os.path.join(folder, "photos", "new"))
    for number, colour in enumerate(CLASSES.values()):
        write_png(os.path.join(folder, "photos", "new", f"{number}.png"), colour, source)
    with open(os.path.join(folder, "houses.csv"), "w") as file:
        file.write("area,rooms,age,price\n")
        for _ in range(500):
            area, rooms, age = source.uniform(-1, 1), source.uniform(-1, 1), source.uniform(-1, 1)
            file.write(f"{area:.4f},{rooms:.4f},{age:.4f},{math.sin(area) + 0.3 * rooms - 0.2 * age:.4f}\n")
    with open(os.path.join(folder, "book.txt"), "w") as file:
        file.write("the quick brown fox jumps over the lazy dog. " * 400)


def write_png(path, colour, source):
    """A picture of one colour with noise; 8 bits, RGB."""
    def byte(value):
        return min(255, max(0, round(value + source.gauss(0, 30))))

    rows = b"".join(b"\0" + bytes(byte(value) for _ in range(SIDE) for value in colour) for _ in range(SIDE))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

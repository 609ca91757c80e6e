"""Writes ONNX files without a library: the few messages of protobuf that a model of float tensors needs."""

import random
import struct

FLOAT, INT64 = 1, 7
EXTERNAL = 1  # the place of a tensor's numbers
OPSET, IR_VERSION = 17, 8
BLOCK = (1 << 14) - 3  # numbers that weights repeat, a prime: making them costs nothing beside compiling, and no rows are equal


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field, number):
    return varint(field << 3) + varint(number)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    if isinstance(value, float):
        return message(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, int):
        return message(1, name) + integer(3, value) + integer(20, 2)
    if isinstance(value, str):
        return message(1, name) + message(4, value) + integer(20, 3)
    return message(1, name) + b"".join(integer(8, each) for each in value) + integer(20, 7)


def port(name, element, shape):
    """A size is a number, or the name of a symbolic one."""
    sizes = b"".join(message(1, message(2, size) if isinstance(size, str) else integer(1, size)) for size in shape)
    return message(1, name) + message(2, message(1, integer(1, element) + message(2, sizes)))


def product(shape):
    count = 1
    for size in shape:
        count *= size
    return count


class Model:
    """A graph under construction. What a method makes is named by the string that it returns."""

    def __init__(self, has_weights=True):
        """Without weights, numbers that differ are in a file that is not there: the compiler initializes them by a rule."""
        self.parts, self.names, self.has_weights = [], 0, has_weights
        self.weights = {}  # by name: shape, first of the block's numbers, value or None, bound, as `numbers` takes them
        self.blocks = {}  # by their bounds

    def name(self, what):
        self.names += 1
        return f"{what}{self.names}"

    def input(self, name, shape, element=FLOAT):
        self.parts.append(message(11, port(name, element, shape)))
        return name

    def output(self, name, value, shape):
        self.parts.append(message(1, message(1, value) + message(2, name) + message(4, "Identity")))
        self.parts.append(message(12, port(name, FLOAT, shape)))

    def tensor(self, name, element, shape, raw):
        self.parts.append(message(5, b"".join(integer(1, size) for size in shape) + integer(2, element)
                                  + message(8, name) + message(9, raw)))
        return name

    def weight(self, name, shape, value=None, bound=0.05):
        """Of numbers between -bound and bound that differ, also from those of other weights, or all `value`."""
        if value is None and not self.has_weights:
            return self.missing(name, shape)
        self.weights[name] = shape, len(self.parts) % BLOCK, value, bound
        return self.tensor(name, FLOAT, shape, self.numbers(*self.weights[name]))

    def numbers(self, shape, first, value, bound):
        """The bytes of a weight."""
        count = product(shape)
        block = struct.pack("<f", value) * BLOCK if value is not None else self.block(bound)
        return ((block[4 * first:] + block[:4 * first]) * (count // BLOCK + 1))[:4 * count]

    def block(self, bound):
        if bound not in self.blocks:
            source = random.Random(1)
            self.blocks[bound] = struct.pack(f"<{BLOCK}f", *(source.uniform(-bound, bound) for _ in range(BLOCK)))
        return self.blocks[bound]

    def missing(self, name, shape):
        place = message(13, message(1, "location") + message(2, "weights.bin"))
        self.parts.append(message(5, b"".join(integer(1, size) for size in shape) + integer(2, FLOAT) + message(8, name)
                                  + place + integer(14, EXTERNAL)))
        return name

    def integers(self, values):
        return self.tensor(self.name("shape"), INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))

    def node(self, op, inputs, outputs=1, **attributes):
        names = [self.name(op.lower()) for _ in range(outputs)]
        content = b"".join(message(1, each) for each in inputs) + b"".join(message(2, each) for each in names)
        content += message(4, op) + b"".join(message(5, attribute(*each)) for each in attributes.items())
        self.parts.append(message(1, content))
        return names[0] if outputs == 1 else names

    def write(self, path):
        """The parts one by one: none of a large model is copied into a whole."""
        parts = [message(2, "bench")] + self.parts
        head = integer(1, IR_VERSION) + message(8, message(1, "") + integer(2, OPSET))
        with open(path, "wb") as file:
            file.write(head + varint(7 << 3 | 2) + varint(sum(map(len, parts))))
            for part in parts:
                file.write(part)

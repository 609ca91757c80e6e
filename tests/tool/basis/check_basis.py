"""Checks what `gradus basis` has written against its definition, in plain Python:

    check_basis.py BASIS.safetensors MEAN.safetensors CHECKPOINT...

The rows of the basis are orthonormal over all tensors together; the snapshots' variances along them are those in the
metadata, in descending order; and the mean is that of the checkpoints, which are given in the order of their steps: of
parameters, their averages and slow copies, and running statistics."""

import array
import json
import math
import struct
import sys


def tensors(path):
    """(metadata, name -> (dtype, shape, numbers or bytes)) of a .safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        part = data[begin:end]
        found[name] = entry["dtype"], entry["shape"], array.array("f", part) if entry["dtype"] == "F32" else part
    return metadata, found


def product(a, b):
    return sum(map(float.__mul__, map(float, a), map(float, b)))


def near(found, expected, tolerance, what):
    if not abs(found - expected) <= tolerance:
        sys.exit(f"{what}: found {found}, expected {expected}")


def main(basis_path, mean_path, *paths):
    metadata, basis = tensors(basis_path)
    snapshots = [tensors(path)[1] for path in paths]
    count = int(metadata["components"])
    names = list(basis)
    for name in names:
        _, shape, _ = basis[name]
        if shape != [count, *snapshots[0][name][1]]:
            sys.exit(f"{name}: has the shape {shape}")

    def row(k):
        numbers = array.array("f")
        for name in names:
            size = len(basis[name][2]) // count
            numbers += basis[name][2][k * size : (k + 1) * size]
        return numbers

    def joined(snapshot):
        numbers = array.array("f")
        for name in names:
            numbers += snapshot[name][2]
        return numbers

    rows, points = [row(k) for k in range(count)], [joined(snapshot) for snapshot in snapshots]
    for i in range(count):
        for j in range(i + 1):
            near(product(rows[i], rows[j]), float(i == j), 1e-6, f"the product of rows {i} and {j}")
    variances = json.loads(metadata["explained_variance"])
    ratios = json.loads(metadata["explained_variance_ratio"])
    if variances != sorted(variances, reverse=True) or not 0 < sum(ratios) <= 1 + 1e-9:
        sys.exit(f"variances {variances}, ratios {ratios}")
    for k in range(count):
        along = [product(point, rows[k]) for point in points]
        middle = sum(along) / len(along)
        distances = [each - middle for each in along]
        near(sum(each**2 for each in distances) / (len(along) - 1) / variances[k], 1, 1e-3, f"the variance along row {k}")
        farthest = max(distances, key=abs)
        near(farthest, abs(farthest), 0, f"the sign of row {k}")

    newest, (said, mean) = snapshots[-1], tensors(mean_path)
    if list(newest) != list(mean) or len(json.loads(said["mean_of"])) != len(paths):
        sys.exit(f"the mean has {list(mean)} and says it is of {said['mean_of']}")
    for name, (dtype, shape, numbers) in mean.items():
        follows = name.startswith(("ema/average/", "lookahead/slow/")) or name.endswith(("running_mean", "running_var"))
        if name not in names and not follows:
            if (dtype, shape, numbers) != newest[name]:
                sys.exit(f"{name} is not that of the newest checkpoint")
            continue
        for i, number in enumerate(numbers):
            exact = math.fsum(snapshot[name][2][i] for snapshot in snapshots) / len(snapshots)
            near(number, exact, abs(exact) * 2**-24, f"element {i} of the mean of {name}")
    print(f"{count} rows and the mean of {len(paths)} checkpoints are right")


main(*sys.argv[1:])

"""Predicted steps of two ranks beside steps of two simulated ones, for two networks each.

`./dev bench --predictions`: each rank has one thread and its own batch. The two run in turn, since other work on
the machine makes both slower; of each the median of all rounds counts, and the ratio is the simulated by the
predicted time. On these networks sums take about half of a step and more.
"""

import json
import statistics

import ranks
import workloads

NETWORKS = {"lenet5": ("500MB/s,5us", "150MB/s,20us"), "resnet18-cifar": ("80MB/s,5us", "40MB/s,20us"),
            "gpt-d256": ("80MB/s,5us", "40MB/s,20us")}
ROUNDS, SECONDS = 5, 3.0


def of_step(artifact, *options):
    words = [ranks.GRADUS, "bench", artifact, "--threads", 1, "--seconds", SECONDS, "--random-states", "--json", *options]
    return json.loads(ranks.output_of(words))


def predicted(artifact, network):
    return of_step(artifact, "--ranks", "2..2", "--network", network)["prediction"]["steps"][0]["ms_step"]


def simulated(artifact, network):
    return of_step(artifact, "--simulate-ranks", 2, "--network", network)["call"]["ms_median"]


def row(name, network, rounds):
    """The figures of a network: medians of both times and their ratio."""
    before, after = (statistics.median(times) for times in zip(*rounds))
    return {"name": name, "network": network, "predicted": before, "simulated": after, "ratio": after / before}


def bench(only, path):
    rows = []
    for name, networks in NETWORKS.items():
        if only not in name:
            continue
        artifact = ranks.artifact_of(workloads.BY_NAME[name], "data_parallel")
        for network in networks:
            rounds = [(predicted(artifact, network), simulated(artifact, network)) for _ in range(ROUNDS)]
            rows.append(row(name, network, rounds))
            if len(rows) == 1:
                print("| " + " | ".join(rows[0]) + " |")
            print(ranks.text_of(rows[-1]), flush=True)
    with open(path, "w") as file:
        json.dump(rows, file, indent=1)

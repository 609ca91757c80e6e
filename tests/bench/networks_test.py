"""The networks of the bench are those that they are named after, and all sides train the same numbers."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import networks
import run
import workloads
from onnx_writer import product
from this_build import is_sanitized

# As torchvision and timm count them.
PARAMETERS = {"mobilenet-v2": 3504872, "convnext-atto": 3695520, "regnetx-002": 2684792, "efficientnet-b0": 5288548}
SMALL = {"lstm": [3, 4, 16], "unet": [2, 3, 32, 32]} | dict.fromkeys(PARAMETERS, [8, 3, 96, 96])
PEER = """
import sys
import networks, workloads
networks.NETWORKS[sys.argv[1]].shape = [int(size) for size in sys.argv[2].split(",")]
load = __import__("peer_" + sys.argv[3]).load
step = load(workloads.BY_NAME[sys.argv[1]], "eager")
print(*(float(step(1)) for _ in range(5)))
"""


def peer_losses(framework, environment, name):
    """Those of the steps behind the first, or None where the framework is not installed."""
    python = os.path.join(run.DEPS, "peers", environment, "bin", "python")
    if not os.path.exists(python):
        return None
    sizes = ",".join(map(str, SMALL[name]))
    done = subprocess.run([python, "-c", PEER, name, sizes, framework], capture_output=True, text=True, cwd=HERE)
    if done.returncode:
        raise AssertionError(f"{framework}, {name}: {done.stderr}")
    return [float(word) for word in done.stdout.split()[1:]]


class Architectures(unittest.TestCase):
    def test_parameters_are_as_many_as_those_of_the_networks_so_named(self):
        for name, count in PARAMETERS.items():
            weights = networks.NETWORKS[name].onnx().weights.items()
            self.assertEqual(sum(product(made[0]) for weight, made in weights if ".running_" not in weight), count, name)

    def test_a_batch_has_the_bytes_of_its_shapes_and_labels_within_the_classes(self):
        for name, network in networks.NETWORKS.items():
            numbers, labels = network.batch()
            self.assertEqual((len(numbers), len(labels)), (4 * product(network.shape), 8 * product(network.label_shape)), name)
            self.assertLess(max(memoryview(labels).cast("q")), network.classes)


class Training(unittest.TestCase):
    def setUp(self):
        self.shapes = {name: network.shape for name, network in networks.NETWORKS.items()}
        for name, network in networks.NETWORKS.items():
            network.shape = SMALL[name]
        os.makedirs(os.path.join(run.BUILD, "bench"), exist_ok=True)

    def tearDown(self):
        for name, network in networks.NETWORKS.items():
            network.shape = self.shapes[name]

    def losses(self, workload):
        worker = run.start_gradus(workload, times=1)
        worker.listen()
        losses = worker.ask(f"losses {run.COMPARED_STEPS}")
        worker.close()
        return losses

    @unittest.skipIf(is_sanitized(), "it is about the bench's models, and the other run has it")
    def test_small_ones_train(self):
        for name in networks.NETWORKS:
            for workload in (workloads.BY_NAME[name], workloads.BY_NAME[f"{name}-bf16"]):
                losses = self.losses(workload)
                self.assertEqual(len(losses), run.COMPARED_STEPS)
                self.assertLess(losses[-1], losses[0], workload.name)

    def test_the_worker_says_which_inputs_its_file_lacks(self):
        workload = workloads.BY_NAME["lstm"]
        self.losses(workload)
        with open(run.inputs_of(workload), "wb") as file:
            file.write(bytes(8))
        done = subprocess.run([os.path.join(run.BUILD, "bin", "gradus_bench_worker"),
                               os.path.join(run.BUILD, "bench", "lstm.gradus"), "1", "0", "10", run.inputs_of(workload)],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (1, "gradus_worker: sequence: the file of inputs ends in it\n"))

    @unittest.skipUnless(os.environ.get("GRADUS_PEERS"), "needs PyTorch: ./dev test --peers")
    def test_losses_are_those_of_peers(self):
        for name in networks.NETWORKS:
            workload = workloads.BY_NAME[name]
            losses = {"gradus": self.losses(workload), "torch": peer_losses("torch", "modules", name)}
            jax = peer_losses("jax", "jax", name)
            run.compare_losses(workload, losses | ({"jax": jax} if jax else {}))


if __name__ == "__main__":
    unittest.main()

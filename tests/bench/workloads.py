"""What the bench runs. Every framework does the same arithmetic: in float32, or products in bfloat16 of float32 parameters."""

import json
import os
from dataclasses import dataclass, replace

import networks

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")
CASES = "../../data/models"  # from there
FULL_SIZE = "full-size"  # the group that runs only on request
THREADS = 2
QUEUE = 100  # batches in one call of the queue workload
NARROW_GOALS = {"resnet18-cifar": 1.5, "resnet50": 1.3, "gpt-d256": 1.9, "gpt2-124m": 1.5, "bert-base": 1.45}  # in bf16
ADAMW_SHAPES = [(1000, 1000)] * 30


@dataclass
class Workload:
    name: str
    what: str
    model: str  # under models/
    recipe: str
    steps: int  # in one repetition
    repetitions: int
    smallest: int = 1  # steps that one call makes
    goal: float = 1.0  # times the best peer
    bounds: str = "10"  # of integer inputs, see gradus_worker.c
    group: str = ""
    dims: tuple = ()  # sizes of the model's symbolic dimensions
    precision: str = "f32"
    in_pieces: bool = False  # whether the machine's memory is cut to pieces first (pieces.c)

    @property
    def network(self):
        return self.name.removesuffix("-pieces").removesuffix(f"-{self.precision}")

    @property
    def is_optimizer(self):
        """Whether it is an optimizer alone, which is compared with a plain update of the same streams."""
        return self.network == "adamw-30m"

    @property
    def is_shared(self):
        """Whether networks.py defines it for all sides."""
        return self.network in networks.NETWORKS

    def optimizer(self):
        with open(os.path.join(MODELS, self.recipe)) as file:
            return json.load(file)["optimizer"]


def full_size(name, what, model, recipe, bounds, goal, dims=()):
    return Workload(name, what, model, recipe, 1, 20, goal=goal, bounds=bounds, group=FULL_SIZE, dims=dims)


def shared(name, what, recipe, goal):
    """One of networks.py, whose file the bench writes. Small steps keep what rounding does to losses below what updates do."""
    return full_size(name, what, "", recipe, "", goal)


def narrow(workload):
    """The same with 16-bit products: PyTorch by autocast."""
    return replace(workload, name=f"{workload.name}-bf16", what=f"{workload.what}, bf16", precision="bf16",
                   goal=NARROW_GOALS.get(workload.name, 1.0))


WORKLOADS = [
    Workload("mlp", "MLP 32-32-32-1, batch 16, SGD momentum, step by step, loss read", "mlp.onnx", "mlp.json", 300, 30, goal=3.0),
    Workload("mlp-ahead", "the same, loss not read: a peer may run ahead", "mlp.onnx", "mlp.json", 300, 30, goal=3.0),
    Workload("mlp-queue", f"the same, {QUEUE} steps in one call", "mlp.onnx", "mlp.json", 1000, 30, smallest=QUEUE, goal=1.4),
    Workload("lenet5", "LeNet-5 28x28, batch 32, SGD momentum", "lenet5.onnx", "lenet5.json", 20, 30, goal=5.0),
    Workload("adamw-30m", "AdamW alone, 30 M parameters", "adamw_30m.mlir", "", 2, 12, goal=1.05),
    Workload("adamw-30m-pieces", "the same after memory was cut to pieces", "adamw_30m.mlir", "", 2, 12, goal=1.05, in_pieces=True),
    full_size("resnet18-cifar", "ResNet-18 32x32, batch 32, SGD momentum", f"{CASES}/resnet18-cifar/model_dynshape.onnx",
              "resnet.json", "10", 2.0, ("batch=32",)),
    full_size("resnet50", "ResNet-50 224x224, batch 8, SGD momentum", f"{CASES}/resnet50-224/model_dynshape.onnx",
              "resnet.json", "1000", 1.28, ("batch=8",)),
    full_size("gpt-d256", "GPT 6 layers of 256, vocabulary 4096, 4 x 256 tokens, AdamW", "gpt_d256.onnx", "transformer.json",
              "4096", 2.6),
    full_size("gpt2-124m", "GPT-2 124M, 4 x 64 tokens, AdamW", f"{CASES}/gpt2-124M/model_dynshape.onnx", "transformer.json",
              "50257", 1.9, ("batch=4", "seq=64")),
    full_size("bert-base", "BERT-base, masked language model, 8 x 128 tokens, AdamW", f"{CASES}/bert-base/model_dynshape.onnx",
              "transformer.json", "30522,attention_mask=2,token_type_ids=2", 2.1, ("batch=8", "seq=128")),
    shared("lstm", "LSTM, 2 layers of 256, 50 steps, batch 32, AdamW", "transformer.json", 1.3),
    shared("unet", "U-Net, 32 to 128 channels, 128x128, batch 4, SGD momentum", "resnet.json", 1.8),
    shared("mobilenet-v2", "MobileNetV2 224x224, batch 8, SGD momentum", "small_steps.json", 1.5),
    shared("convnext-atto", "ConvNeXt-atto 224x224, batch 8, AdamW", "transformer.json", 1.5),
    shared("regnetx-002", "RegNetX-002 224x224, batch 8, SGD momentum", "small_steps.json", 1.5),
    shared("efficientnet-b0", "EfficientNet-b0 224x224, batch 8, SGD momentum", "small_steps.json", 1.6),
]
WORKLOADS += [narrow(workload) for workload in WORKLOADS if workload.group == FULL_SIZE]
BY_NAME = {workload.name: workload for workload in WORKLOADS}

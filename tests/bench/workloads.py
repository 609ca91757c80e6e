"""What the bench runs. Every framework does the same arithmetic in float32."""

from dataclasses import dataclass

THREADS = 2
QUEUE = 100  # batches in one call of the queue workload
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


WORKLOADS = [
    Workload("mlp", "MLP 32-32-32-1, batch 16, SGD momentum, step by step, loss read", "mlp.onnx", "mlp.json", 300, 30, goal=3.0),
    Workload("mlp-ahead", "the same, loss not read: a peer may run ahead", "mlp.onnx", "mlp.json", 300, 30, goal=3.0),
    Workload("mlp-queue", f"the same, {QUEUE} steps in one call", "mlp.onnx", "mlp.json", 1000, 30, smallest=QUEUE, goal=1.4),
    Workload("lenet5", "LeNet-5 28x28, batch 32, SGD momentum", "lenet5.onnx", "lenet5.json", 20, 30, goal=4.0),
    Workload("adamw-30m", "AdamW alone, 30 M parameters", "adamw_30m.mlir", "", 2, 12, goal=1.05),
]
BY_NAME = {workload.name: workload for workload in WORKLOADS}

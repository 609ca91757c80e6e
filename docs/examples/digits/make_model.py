"""Makes lenet.onnx: a LeNet-5 with PyTorch's initial weights, exported untrained.

Run in a virtual environment with torch, onnx and onnxscript. With --train it also
trains the net as recipe.json says, to show what accuracy to expect.
"""

import argparse
import json
import os
import struct

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, image):
        x = self.pool(torch.relu(self.conv1(image)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


def export(model, path):
    torch.onnx.export(model, (torch.zeros(2, 1, 28, 28),), path, dynamo=False, opset_version=20,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}})


def load(name):
    with open(os.path.join(HERE, name), "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    dtypes = {"F32": torch.float32, "I64": torch.int64}

    def tensor(entry):
        begin, end = entry["data_offsets"]
        return torch.frombuffer(bytearray(data[begin:end]), dtype=dtypes[entry["dtype"]]).view(entry["shape"])

    return tensor(header["image"]), tensor(header["label"])


def optimizer(model, recipe):
    keys = recipe["optimizer"]
    return torch.optim.AdamW(model.parameters(), lr=keys["learning_rate"], weight_decay=keys["weight_decay"])


def train(model, epochs):
    with open(os.path.join(HERE, "recipe.json")) as file:
        recipe = json.load(file)
    image, label = load("train.safetensors")
    test_image, test_label = load("test.safetensors")
    batch, adamw = recipe["inputs"]["dims"]["batch"], optimizer(model, recipe)
    loss = nn.CrossEntropyLoss(label_smoothing=recipe["loss"]["label_smoothing"])
    for _ in range(epochs):
        for chosen in torch.randperm(len(label)).split(batch):
            adamw.zero_grad()
            loss(model(image[chosen]), label[chosen]).backward()
            adamw.step()
    with torch.no_grad():
        return (model(test_image).argmax(1) == test_label).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, metavar="EPOCHS", help="train with ten shuffles instead of exporting")
    epochs = parser.parse_args().train
    for seed in range(10 if epochs else 1):
        torch.manual_seed(0)
        model = LeNet5()
        torch.manual_seed(seed)
        if epochs:
            print(f"seed {seed}: test accuracy: {train(model, epochs):.3f}", flush=True)
        else:
            export(model, os.path.join(HERE, "lenet.onnx"))


if __name__ == "__main__":
    main()

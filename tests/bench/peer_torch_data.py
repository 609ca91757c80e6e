"""PyTorch's side of the bench of data: a DataLoader of as many workers as Gradus has threads.

torchvision's RandomResizedCrop, RandomHorizontalFlip and ToTensor, on images as
Pillow decodes them. Protocol: see worker.py; a run reads so many epochs.

  python peer_torch_data.py FOLDER WORKERS SIZE BATCH
"""

import sys
import time

import torch
import worker
from torchvision import datasets, transforms

folder, workers, size, batch = sys.argv[1], *map(int, sys.argv[2:])
torch.manual_seed(0)
images = datasets.ImageFolder(folder, transforms.Compose([
    transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), transforms.ToTensor()]))
loader = torch.utils.data.DataLoader(images, batch_size=batch, shuffle=True, drop_last=True, num_workers=workers,
                                     persistent_workers=True)


def run(epochs):
    for _ in range(epochs):
        for _ in loader:
            pass


start = time.perf_counter()
run(1)
worker.say(f"ready {time.perf_counter() - start:.3f}")
worker.answer(run)

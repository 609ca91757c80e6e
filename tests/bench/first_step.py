"""From a module of PyTorch to the end of its first training step, in a process of its own.

    first_step.py MODULE gradus|torch

Prints the seconds, all included but the import of PyTorch and the module's construction, which both need. `torch` is
torch.compile, with its caches on disk in a folder that is empty.
"""

import os
import sys
import time

import torch


def resnet50():
    from torchvision.models import resnet50 as make

    return make(), (torch.randn(8, 3, 224, 224),), torch.randint(0, 1000, (8,))


class Logits(torch.nn.Module):
    """A model of transformers that returns its logits alone."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, ids):
        return self.inner(input_ids=ids, use_cache=False).logits.transpose(1, 2)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    return Logits(GPT2LMHeadModel(config)), (torch.randint(0, config.vocab_size, (4, 64)),), torch.randint(0, config.vocab_size, (4, 64))


MODULES = {"resnet50": resnet50, "gpt2-124m": gpt2}


def in_gradus(module, inputs, labels):
    sys.path.insert(0, os.path.join(os.environ["GRADUS_BUILD"], "python"))
    import gradus

    step = gradus.compile(module, example=inputs, loss=torch.nn.CrossEntropyLoss(),
                          optimizer=torch.optim.AdamW(module.parameters(), lr=1e-3), cache=False)
    return step(*inputs, labels).loss


def in_torch(module, inputs, labels):
    compiled, loss = torch.compile(module), torch.nn.CrossEntropyLoss()
    moves = torch.optim.AdamW(module.parameters(), lr=1e-3)
    value = loss(compiled(*inputs), labels)
    value.backward()
    moves.step()
    return value.item()


def main():
    name, how = sys.argv[1:]
    torch.manual_seed(1)
    module, inputs, labels = MODULES[name]()
    module.train()
    start = time.perf_counter()
    loss = (in_gradus if how == "gradus" else in_torch)(module, inputs, labels)
    print(f"{time.perf_counter() - start:.3f} {loss:.6f}")


if __name__ == "__main__":
    main()

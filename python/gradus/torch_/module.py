"""What a module is refused for before it is exported, and the names of its parameters."""

import collections

from .errors import NotExpressible


def unwrapped(module):
    """The module inside what torch.compile makes of it."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise NotExpressible(f"expected a torch.nn.Module, found a {type(module).__name__}")
    module = getattr(module, "_orig_mod", module)
    if isinstance(module, torch.jit.ScriptModule):
        raise NotExpressible("a scripted module has no Python source to export; give the module that torch.jit.script was given")
    if type(module).__name__ in ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel"):
        raise NotExpressible(f"a {type(module).__name__} is a wrapper of several devices; give its .module, and say "
                             "distribution={\"mode\": \"data_parallel\"}")
    return module


def checked(module):
    """Refuses what the file would not say and so would train otherwise."""
    import torch

    for name, part in module.named_modules():
        where = f"{type(part).__name__} '{name}'" if name else type(part).__name__
        if isinstance(part, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            refuse_embedding(part, where)
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if isinstance(tensor, (torch.nn.parameter.UninitializedParameter, torch.nn.parameter.UninitializedBuffer)):
            raise NotExpressible(f"'{name}' has no shape yet; run the module once on an example before")
        if tensor.device.type == "meta":
            raise NotExpressible(f"'{name}' is on the device meta and has no values; module.to_empty(device=\"cpu\") and initialize it")
    return module


def refuse_embedding(part, where):
    import torch

    if part.max_norm is not None:
        raise NotExpressible(f"{where} has max_norm, which changes the table while it is read; clip its rows between steps instead")
    if part.scale_grad_by_freq:
        raise NotExpressible(f"{where} has scale_grad_by_freq, of which the file says nothing; leave it out")
    if isinstance(part, torch.nn.EmbeddingBag) and part.padding_idx is not None:
        raise NotExpressible(f"{where} has padding_idx, of which the file says nothing; use Embedding(padding_idx=...) and a sum")


def parameters_of(module, in_file):
    """{name in the module: name in the file}. Parameters that are tied have several names, of which the file has one."""
    aliases = collections.defaultdict(list)
    for name, parameter in module.named_parameters(remove_duplicate=False):
        aliases[id(parameter)].append(name)
    names = {}
    for group in aliases.values():
        place = next((name for name in group if name in in_file), None)
        if place is not None:
            names.update((name, place) for name in group)
    return names

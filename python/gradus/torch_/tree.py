"""Arguments and results of a module as flat lists of named tensors: tuples, dicts and outputs of transformers."""

import collections.abc
import dataclasses
import inspect

from .errors import NotExpressible


def is_tensor(value):
    import torch

    return torch.is_tensor(value)


def as_tensor(value):
    """The tensor of a NumPy array or of what else DLPack knows; anything else as it is."""
    import torch

    if is_tensor(value):
        return value.detach()
    if type(value).__module__ == "numpy" and hasattr(value, "shape"):
        import numpy

        return torch.from_numpy(numpy.ascontiguousarray(value))
    return torch.from_dlpack(value) if hasattr(value, "__dlpack__") else value


def tensors_of(values):
    """A tensor, or a tuple or list of them, as a list; None is none."""
    if values is None:
        return []
    found = [as_tensor(value) for value in (values if isinstance(values, (tuple, list)) else [values])]
    for value in found:
        if not is_tensor(value):
            raise NotExpressible(f"an example of labels is a {type(value).__name__}; expected tensors or arrays")
    return found


@dataclasses.dataclass
class Arguments:
    """The tensors among forward()'s arguments. `rebuilt` puts others in their place; what is no tensor stays as in the example."""

    names: list
    tensors: list
    structure: object
    leaves: list

    def rebuilt(self, tensors):
        from torch.utils import _pytree

        remaining = iter(tensors)
        leaves = [next(remaining) if is_tensor(leaf) else leaf for leaf in self.leaves]
        return _pytree.tree_unflatten(leaves, self.structure)


def flat_inputs(module, example, names=None):
    from torch.utils import _pytree

    positional, keywords = bound(module, example)
    leaves, structure = _pytree.tree_flatten((positional, keywords))
    leaves = [as_tensor(leaf) for leaf in leaves]
    tensors = [leaf for leaf in leaves if is_tensor(leaf)]
    if not tensors:
        raise NotExpressible("the example has no tensor in it; give the tensors that forward() gets, example=(x,)")
    own = [name for name, value in called(module, positional, keywords) for name in leaf_names(name, value)]
    if isinstance(names, str):
        names = [names]
    if names is not None and len(names) != len(tensors):
        raise NotExpressible(f"inputs has {len(names)} names, and the example {len(tensors)} tensors: {', '.join(own)}")
    return Arguments(list(names or own), tensors, structure, leaves)


def bound(module, example):
    """Positional and keyword arguments. transformers' caches of keys and values are left out, which training has no use for."""
    if isinstance(example, collections.abc.Mapping):
        positional, keywords = (), dict(example)
    else:
        positional, keywords = tuple(example) if isinstance(example, (tuple, list)) else (example,), {}
    signature = inspect.signature(module.forward)
    if "use_cache" in signature.parameters and "use_cache" not in keywords:
        keywords["use_cache"] = False
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        raise NotExpressible(f"the example does not fit {type(module).__name__}.forward{signature}: {error}") from None
    return positional, keywords


def called(module, positional, keywords):
    """(name of forward()'s argument, value) in the order in which they are flattened."""
    signature = inspect.signature(module.forward)
    kinds = inspect.Parameter
    plain = [name for name, each in signature.parameters.items() if each.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    several = len(positional) - len(plain)
    rest = ["input"] if several == 1 else [f"input_{i}" for i in range(several)]
    return list(zip(plain + rest, positional)) + list(keywords.items())


def leaf_names(name, value):
    """The names of the tensors in an argument: its own, or one with the path behind it."""
    value = as_tensor(value)
    if is_tensor(value):
        return [name]
    if isinstance(value, collections.abc.Mapping):
        return [part for key, each in value.items() for part in leaf_names(f"{name}_{key}", each)]
    if isinstance(value, (tuple, list)):
        return [part for i, each in enumerate(value) for part in leaf_names(f"{name}_{i}", each)]
    return []


class Outputs:
    """Which of a module's results become outputs, by what names, and the loss of them as the first. The names are known once the module
    has run."""

    def __init__(self, wanted, loss, label_count):
        self.wanted = [wanted] if isinstance(wanted, str) else wanted
        self.loss, self.label_count, self.names, self.refusal = loss, label_count, [], None
        self.is_in_loss = False  # whether forward() has come to its end, and the loss is called

    def flat(self, result, labels):
        """The outputs as a tuple. Exporters try several ways and tell the last error alone, so a refusal is kept."""
        self.is_in_loss = False
        try:
            return self.flattened(result, labels)
        except NotExpressible as error:
            self.refusal = error
            raise

    def flattened(self, result, labels):
        found = named_outputs(result)
        if not found:
            raise NotExpressible(f"forward() gives a {type(result).__name__} without a floating-point tensor at its top; "
                                 "expected a tensor, or a tuple or dict of tensors")
        chosen = self.chosen(found)
        self.names = list(chosen)
        if self.loss is None:
            return tuple(chosen.values())
        if "loss" in chosen:
            raise NotExpressible("the model has an output called 'loss', and so is that of the loss; name the outputs by `outputs`")
        self.names = ["loss", *chosen]
        return (self.value(result, found, labels), *chosen.values())

    def chosen(self, found):
        if self.wanted is None:
            return found
        if all(name in found for name in self.wanted):
            return {name: found[name] for name in self.wanted}
        if len(self.wanted) == len(found) and all(name.startswith("output") for name in found):
            return dict(zip(self.wanted, found.values()))
        missing = next(name for name in self.wanted if name not in found)
        raise NotExpressible(f"outputs: the model has no output '{missing}'; it has {', '.join(found)}")

    def value(self, result, found, labels):
        """A loss of torch.nn gets the outputs one by one, another callable what forward() gives."""
        import torch

        self.is_in_loss = True
        if isinstance(self.loss, torch.nn.Module):
            return self.loss(*found.values(), *labels)
        return self.loss(result, *labels)


def named_outputs(result):
    """{name: tensor} of those tensors at the top of a result that have gradients: `output`, those of a tuple, or a dict's keys."""
    if is_tensor(result):
        items = [("output", result)]
    elif isinstance(result, collections.abc.Mapping):
        items = [(str(name), value) for name, value in result.items()]
    elif isinstance(result, tuple) and hasattr(result, "_fields"):
        items = list(zip(result._fields, result))
    elif isinstance(result, (tuple, list)):
        items = [(f"output_{i}", value) for i, value in enumerate(result)]
    else:
        items = []
    return {name: value for name, value in items if is_tensor(value) and value.is_floating_point()}

"""Which batch normalizations of a module train: torch.export writes all of them in inference form, whatever their mode."""

from .errors import NotExpressible

MEAN = 3  # the input of a BatchNormalization


def modes_of(module):
    """Whether the owner of a buffer is in training mode, by each of the buffer's names."""
    return {f"{path}.{name}" if path else name: owner.training
            for path, owner in module.named_modules(remove_duplicate=False) for name in owner._buffers}


def say_modes(graph, modes):
    """Writes those that train in their training form. Returns whether all that the graph has keep their running statistics instead, as
    the recipe's `freeze_batch_norm` says it."""
    import onnx_ir

    nodes = {True: [], False: []}
    for node in graph:
        if node.op_type == "BatchNormalization" and node.inputs[MEAN].name in modes:
            nodes[modes[node.inputs[MEAN].name]].append(node)
    if nodes[True] and nodes[False]:
        trains, stays = (nodes[mode][0].inputs[MEAN].name.rpartition(".")[0] for mode in (True, False))
        raise NotExpressible(f"the batch normalization '{stays}' is in eval mode and '{trains}' trains; a step uses the statistics of the "
                             "batch in all of them or, with all of them in eval mode, in none")
    for node in nodes[True]:
        node.attributes["training_mode"] = onnx_ir.AttrInt64("training_mode", 1)
    return bool(nodes[False])

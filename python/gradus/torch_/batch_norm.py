"""Which normalizations of a module train: torch.export writes all batch normalizations in inference form, whatever their mode, and
instance normalizations that train without their running statistics."""

from .errors import NotExpressible

MEAN = 3  # the input of a BatchNormalization


def modes_of(module):
    """Whether the owner of a buffer is in training mode, by each of the buffer's names."""
    return {f"{path}.{name}" if path else name: owner.training
            for path, owner in module.named_modules(remove_duplicate=False) for name in owner._buffers}


def refuse_running_instances(module):
    """Running statistics of an instance normalization that trains are in no file: a step would not move them, and `predict` not use them."""
    from torch.nn.modules.instancenorm import _InstanceNorm

    for path, part in module.named_modules():
        if isinstance(part, _InstanceNorm) and part.track_running_stats and part.training:
            raise NotExpressible(f"the {type(part).__name__} '{path}' keeps running statistics (track_running_stats=True), which the exporter "
                                 "leaves out while it trains: they would stay as they are; make it with track_running_stats=False, or put it "
                                 "into eval mode, where it uses those that it has")


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

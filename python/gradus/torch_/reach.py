"""Which inputs of an exported graph each of its outputs depends on."""


def inputs_of_outputs(graph):
    """{output: names of inputs} of a graph of onnx_ir. A node depends on all that it and the graphs inside of it read."""
    names = {value.name for value in graph.inputs}
    return {output.name: reached(output, names) for output in graph.outputs}


def reached(output, names):
    found, seen, left = [], set(), [output]
    while left:
        value = left.pop()
        if value is None or id(value) in seen:
            continue
        seen.add(id(value))
        if value.name in names and value.is_graph_input():
            found.append(value.name)
        node = value.producer()
        if node is not None:
            left += read_by(node)
    return sorted(found)


def read_by(node):
    """What a node reads, and what the graphs among its attributes do."""
    values = list(node.inputs)
    for attribute in node.attributes.values():
        inner = getattr(attribute, "value", None)
        for graph in inner if isinstance(inner, (list, tuple)) else [inner]:
            if hasattr(graph, "all_nodes"):
                values += [value for each in graph.all_nodes() for value in each.inputs]
                values += list(graph.outputs)
    return values

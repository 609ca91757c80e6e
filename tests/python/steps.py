"""Steps of exported modules by the package: what tests of PyTorch's objects stand on."""

import package  # noqa: F401  (puts the package on the path)


def step_of(model, recipe, dims=None):
    """The step of an ONNX file's bytes and a recipe as a dictionary."""
    import gradus

    return gradus.compile(model, recipe=recipe, dims=dims, threads=1, cache=False)

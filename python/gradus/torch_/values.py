"""Values of PyTorch's objects as the recipe has them."""


def plain(value):
    """A number of NumPy or torch as one of Python; tuples and lists as lists of such."""
    if hasattr(value, "item"):
        return value.item()
    return [plain(each) for each in value] if isinstance(value, (tuple, list)) else value


def listed(value):
    """A tensor as a list, also one without axes; anything else as it is."""
    if not hasattr(value, "tolist"):
        return value
    value = value.tolist()
    return value if isinstance(value, list) else [value]

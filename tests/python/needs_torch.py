"""PyTorch for tests, or None and the reason to skip them."""

try:
    import onnxscript  # noqa: F401  (what torch.onnx.export stands on)
    import torch

    torch.set_num_threads(1)
except ImportError as missing:
    torch, WHY = None, str(missing)


def torch_is_missing():
    """Why a test is skipped, in words."""
    return "" if torch else f"PyTorch is not installed beside this Python ({WHY})"

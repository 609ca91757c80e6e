"""PyTorch for tests beside the package, or None and the reason to skip them."""

from package import missing

WHY = missing()
torch = None
if not WHY:
    try:
        import onnxscript  # noqa: F401  (what torch.onnx.export stands on)
        import torch

        torch.set_num_threads(1)
    except ImportError as error:
        torch, WHY = None, f"PyTorch is not installed beside this Python ({error})"


def torch_is_missing():
    """Why a test is skipped, in words."""
    return WHY

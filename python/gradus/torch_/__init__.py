"""What `gradus.compile` makes of objects of PyTorch: a module's ONNX file, and a recipe of its loss, optimizer and schedule.

Nothing here imports torch before it is given an object of it.
"""

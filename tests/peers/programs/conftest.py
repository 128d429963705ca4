"""The driver is a program of PyTorch's, and is run as one: nobody looks for examples in it."""

collect_ignore = ["drive.py"]

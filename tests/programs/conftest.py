"""Scripts are run as programs of PyTorch's: nobody looks for examples in them."""

collect_ignore = ["scripts"]

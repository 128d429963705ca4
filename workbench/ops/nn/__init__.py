"""What the layers of networks compute, by kind of layer."""

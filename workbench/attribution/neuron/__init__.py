"""Methods that explain one neuron of a layer."""

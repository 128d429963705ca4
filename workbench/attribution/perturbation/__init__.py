"""Methods that perturb inputs and look at what comes out: they need no gradients."""

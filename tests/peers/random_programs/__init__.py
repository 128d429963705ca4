"""Random programs of views, changes in place and gradients, run with PyTorch and with the workbench.

`grow` makes a program with PyTorch running along, `tests/random_programs` holds the words of the language, the machine
that runs a program with either library, the comparison, and programs recorded for the plain suite.
"""

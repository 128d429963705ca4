"""Quantization of graphs: functions as well as layers, and no stubs. `quantize_fx` beside it has what programs call.

A model is traced to its layers, through transformers to their linear ones (`tracing`). The graph is normal first:
functions with weights are layers (`layers`), layers are joined with what follows them (`fusion`). Then each node says
by the table of ops what it does to codes (`statements`); what needs a scale is observed (`observing`); and at the end
codes take the place of values (`converting`).
"""

"""ONNX files, judged by the official tests of the operators and by onnxruntime."""

"""ONNX files: protocol buffers read as bytes, graphs told in columns."""

"""ONNX files: `wire` parses protocol buffers, `graph` the operators, `reader` builds the model.

`preprocessing` and `operators*` trace features back to columns, `ensemble*` reads the trees, `postprocessing` checks
what follows them, `unread` records the rest.
"""

"""One package per format of model files, each with a module that has `sniff` and `read`.

`read` takes the bytes of a file and returns an unchecked `ModelIR`; no code of the file is run. The `unread` module of
a format records the content that is not part of the model, so that it is disclosed as `other_content`.
"""

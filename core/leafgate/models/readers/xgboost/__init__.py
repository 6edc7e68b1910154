"""XGBoost's files, JSON and UBJSON.

`ubjson` parses the binary form to what JSON would be, `reader` builds the model, `node_sizes` computes the people at
every node from sums of second derivatives, `unread` records the rest of the document.
"""

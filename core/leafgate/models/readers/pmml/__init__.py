"""PMML files: XML trees and their predicates.

`xml` parses a document within bounds, `fields` reads its data dictionary and predicates, `trees` turns nodes with
several children into binary trees, `reader` builds the model, `unread` records the rest of the document.
"""

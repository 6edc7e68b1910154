"""The intermediate representation of models: trees over features, and origins of features in columns.

`model` and `features` define it, `arrays` builds it from lists of numbers, `validate` checks it after a reader.
"""

"""A model of any library as neutral trees over its own features: what readers of model files return.

`model` has the model and its trees, `features` how features are made of columns, `node_numbers` what the numbers on
nodes count, `arrays` checked arrays and trees that are built node by node; `validate` refuses what is no model.
`unread` collects what a file holds besides its model.
"""

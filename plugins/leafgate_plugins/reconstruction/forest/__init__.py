"""What the counts on all leaves of all trees say of a table whose people nobody knows.

`regions` has the cells that people in a leaf can have, as arrays; `column_bounds` how many people have a part of a
column at least and at most, by all trees; `cell_bounds` the same by what several trees state together, with pairs of
leaves, and `bounds` both; `assignment` finds a leaf of each tree for each person. Data flow in this order.
"""

"""From files, engines and tables in memory to Tables, as the section `data` of a policy says.

`csv`, `plain_csv`, `frames` and, by plugins, `engines` read cells as text (`cells`), which become `records`: numbers of
texts, in main memory or on disk. `typed_cells` makes values of the texts, or refuses those that do not fit the policy,
and `people` a Table of the records. `reader` does this for one file, and `digest` digests the people of a Table.
"""

"""From files, engines and tables in memory to Tables, as the section `data` of a policy says.

`csv`, `plain_csv`, `frames` and, by plugins, `engines` read cells as text (`cells`, `raw_records`; `stored_records`
where they do not fit into memory). `typed_cells` makes values of them, or refuses those that do not fit the policy.
`reader` puts this together for one file, and `digest` digests the people of a Table.
"""

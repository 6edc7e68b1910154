"""From a policy's YAML files to checked models: `sources` reads files, `inherit` merges those that extend others.

`models`, `knowledge`, `protection` and `waivers` are what a policy may contain; `load` checks a document with them and
`validation` turns what is wrong into problems with a path. `strictness` compares two policies, for `inherit` and for
`leafgate diff`; `repository` finds the policies of a git repository.
"""

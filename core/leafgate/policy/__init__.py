"""From a policy's YAML files to checked models: `sources` reads files, `inherit` merges those that extend others.

`knowledge`, `protection` and `waivers` check what a policy contains; `load` checks a document with them and
`validation` turns what is wrong into problems with a path. `strictness` compares two policies by the rules of their
fields (`reader_options` for how files are read), for `inherit` and for `leafgate diff`; `dependents` finds the policies
of a repository that are read with a changed file.
"""

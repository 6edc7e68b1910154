"""Reading and writing files without trust: nothing here decides what is disclosed.

`json` and `yaml` parse strictly, `text` makes what others wrote fit to print, `files` writes whole files or
none, and `locks` keeps other processes from a folder meanwhile. `tables` reads data files into Tables by the policy.
`tree_writer`, `tree_reader` and `release_codec` write releases as files and read them.
"""

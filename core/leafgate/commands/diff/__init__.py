"""`leafgate diff` compares two policies, or two reports.

`command` reads the files; `policies` classifies each change as tighter or looser, of what files hold too; `reports`
compares findings.
"""

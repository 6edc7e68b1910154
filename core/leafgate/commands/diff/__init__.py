"""`leafgate diff` compares two policies, or two reports.

`command` reads the files through `sources`; `policies` classifies each change as tighter or looser and predicts the
outcomes of a stored report; `digests` finds changes of files that no line of a policy shows; `reports` compares
findings.
"""

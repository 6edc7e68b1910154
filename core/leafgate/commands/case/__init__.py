"""Cases: what an output is asked for, and who decided what about it, in `case.json` beside the report of its audit.

`record` is the file: what it may hold, its chain and signatures, and what follows from it. `folder` compares it with
the files that it is about, and adds decisions; `command` is `leafgate case`.
"""

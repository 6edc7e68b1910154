"""`leafgate sheet`: a decision sheet of two printed pages, made from a stored report.

`facts.py` reads what the report cannot know and its users may fill in, `content.py` puts both together, and
`templates/sheet.html.j2` draws the pages. The decision and the signatures are always left blank.
"""

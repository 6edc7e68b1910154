"""`leafgate map`: what a stored report answers of a framework's clauses, and what people must still judge.

`framework.py` has the model of a framework's YAML file, `frameworks/` those that leafgate brings along. `document.py`
joins one with a report and makes the document `leafgate/map/1`, with the values of `facts.py`; `views.py` renders that
document as Markdown and as a page. No clause is ever called fulfilled: a report answers a part of it, or nothing.
"""

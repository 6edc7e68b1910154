"""From the outcome of an audit to the document that an audience may see, and back from its file.

`document.py` turns a `Report` into a `ReportDocument` (declared in `schema.py`). It masks every number by `masking.py`,
takes histograms, accuracies and the tree from `figures.py` (with `histograms.py`), and adds notes on verdicts that
disclose more than the masked numbers (`limit_leakage.py`, with `limit_query.py`). `stored.py` reads a document
strictly, `intervals.py` compares its masked numbers, `wording.py` puts findings
into words, and `summary.py` the report.
"""

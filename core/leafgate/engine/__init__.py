"""The audit: build a release, attack it, score the beliefs, and compare the scores with the policy's limits.

`audit` calls `build`, `attack`, `checks` and `score` in this order, and `waivers` on their findings. `knowledge` grants
each attack what the policy says for it, limited to what the attack declares. `validation`
refuses beliefs that make no sense; `scores` validates and summarises a metric's scores of one belief. `report_facts`
writes what a report states besides findings, `figures` its pictures.
"""

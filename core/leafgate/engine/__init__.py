"""The audit: build a release, attack it, check it, score what attacks believe, and compare with the policy's limits.

`audit` holds this loop: it calls `build`, `attack`, `checks`, `limits` and `waivers`. `knowledge` grants each attack
what the policy says for it, limited to what the attack declares, and `validation` refuses beliefs that make no sense.
`limits` makes a finding of the `scores` of one belief, and `audience` decides who may see its numbers. `report` adds
remedies, `figures`, `dropped_people` and what `report_facts` says besides.
"""

"""One run: joins policy, engine, disclosure, models and reports, which do not import each other.

run              opens a policy and its tables; compiles the plan; builds and audits
results          writes the release and the report;  stale_results: removes those of earlier runs first
expected_run     checks that a stored report belongs to the expected run, and judges its waivers again
limit_warnings   warns of limits about groups that no public report may show
notebook         displays an audit in a notebook
"""

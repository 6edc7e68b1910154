"""One run: joins policy, engine, disclosure and models, which do not import each other.

run              opens a policy and its tables; builds and audits;  undeclared: reads tables before there is a policy
report_formats   finds the formats that plugins offer, and renders reports
results          the folder of results: sets aside the verdicts of earlier runs, and writes the release and the report
expected_run     checks that a stored report belongs to the expected run, and judges its waivers again
limit_warnings   warns of limits about groups that no public report may show
audit            an audit as Python users have it;  notebook_display: pages of audits and releases in frames
draft            what a first policy says of a model and of columns, for `leafgate init` and for `leafgate.audit`
model_audit      `leafgate.audit` of a model and a table in memory;  repair: `leafgate.repair`
python_text      problems and remedies with arguments of Python;  people: tables in memory with their class
"""

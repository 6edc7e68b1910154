# Conftest or OPA over a report.json: which policy, file and versions it must be about, and no waiver.
#
#   conftest test leafgate-report/report.json --policy report.rego --data expected.yaml
#
# Every rule denies unless what is wanted is there: in Rego a comparison with a missing value would deny nothing.
package main

import rego.v1

deny contains "the report is no leafgate/report/1 for the public" if not for_the_public

for_the_public if {
	input.format == "leafgate/report/1"
	input.audience == "public"
}

deny contains "the verdict is not pass" if not input.verdict == "pass"

deny contains "a limit was waived" if not input.waived == 0

deny contains "another policy was audited" if not expected_policy

expected_policy if input.policy.sha256 in data.leafgate.policies

expected_policy if input.policy.sha256_without_file in data.leafgate.policies

deny contains "another release or file was audited" if not expected_release

expected_release if input.release.file.sha256 in data.leafgate.files

expected_release if input.release.sha256 in data.leafgate.releases

deny contains sprintf("%s is not at an expected version", [name]) if {
	some name, versions in data.leafgate.versions
	not input.versions[name] in versions
}

deny contains "no version of leafgate is expected" if not data.leafgate.versions.leafgate

deny contains sprintf("%s did not hold", [finding.id]) if {
	some finding in input.findings
	not finding.passed == true
}

deny contains "the report has no findings" if not count(input.findings) > 0

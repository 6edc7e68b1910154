#!/bin/sh
# Copy the release of a run that passed, and its report, to the folder that is published.
#
#   copy.sh FOLDER TARGET      FOLDER is what gate.sh filled; files with these names in TARGET are replaced
#
# Contents are copied first, also where a file is a link. The copies are verified, and take their names only then.
set -efu
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP
export PYTHONNOUSERSITE=1 PYTHONSAFEPATH=1
folder=$1 target=$2
mkdir -p -- "$target"
copies=$(mktemp -d -- "$target/.leafgate-XXXXXX")
trap 'rm -rf -- "$copies"' EXIT
cp -L -- "$folder/release.json" "$folder/report.json" "$copies" || exit 2
leafgate report "$copies/report.json" --expect-release="$copies/release.json" >/dev/null
mv -f -- "$copies/release.json" "$copies/report.json" "$target"

#!/bin/sh
# Publish a file only if signed statements say that it passed, by this policy.
#
#   publish.sh FOLDER KEY POLICY --file|--release FILE COMMAND [ARGUMENT]...
#
# FOLDER has the statements that `leafgate attest` wrote. KEY is the public key; keep it, and POLICY, where those who audit
# cannot change them. COMMAND is run with its arguments and, as the last one, a copy of FILE: the one that was verified.
# It is not run unless `leafgate verify` ends in 0; then this ends as that does.
set -efu
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP
export PYTHONNOUSERSITE=1 PYTHONSAFEPATH=1
[ "$#" -ge 6 ] || { echo 'publish: name FOLDER KEY POLICY --file|--release FILE COMMAND' >&2; exit 2; }
folder=$1 key=$2 policy=$3 kind=$4 file=$5
shift 5
case "$kind" in --file | --release) ;; *) echo "publish: $kind is neither --file nor --release" >&2; exit 2 ;; esac
copies=$(mktemp -d)
trap 'rm -rf -- "$copies"' EXIT
copy=$copies/$(basename -- "$file")
cp -R -- "$file" "$copy" || exit 2
leafgate verify --key="$key" --policy="$policy" "$kind=$copy" -- "$folder" >&2
"$@" "$copy"

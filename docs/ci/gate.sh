#!/bin/sh
# Audit into a new folder and end as the audit does, so that what follows runs after a pass only.
#
#   gate.sh FOLDER POLICY [DATA] [OPTION]...      FOLDER must not exist; the rest is for `leafgate audit`
#
# DATA is the table, if POLICY does not name it: another file than POLICY names is refused.
# After a pass the folder's name is the last line on stdout. Everything else is on stderr.
set -efu
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP
export PYTHONNOUSERSITE=1 PYTHONSAFEPATH=1
folder=$1
shift
mkdir -p -- "$(dirname -- "$folder")" && mkdir -- "$folder" || exit 2  # what is there is another run's
leafgate audit --out="$folder" --to=markdown "$@" >&2
policy=${1:-} before=
for word do  # the policy is read as the audit has read it
    shift
    case "$before" in --org | --root) set -- "$@" "$before=$word" ;; esac
    case "$word" in --org=* | --root=*) set -- "$@" "$word" ;; esac
    before=$word
done
# Exit code 0 alone is not enough: `--help` ends so, too. This ends as the verdict of the report says.
leafgate report "$folder/report.json" --expect-policy="$policy" "$@" >/dev/null
printf '%s\n' "$folder"

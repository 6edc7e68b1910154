#!/bin/sh
# Audit a policy of the repository that the job stands in, and end as the audit does.
#
#   audit.sh FOLDER        FOLDER is what install.sh filled; it receives report/, which must not be there yet
#
# Inputs come by the environment: LEAFGATE_POLICY, LEAFGATE_DATA, LEAFGATE_TEST, LEAFGATE_ROOT, LEAFGATE_ORG (one policy a
# line), LEAFGATE_FORMATS. They are quoted, none is ever a piece of this script, and none can be taken for an option: paths
# are made absolute, values are joined to their options. Reports are always for the public: everybody who can read
# the job can read them.
set -efu
newline='
'
absolute() { case $1 in /*) path=$1 ;; *) path=$PWD/$1 ;; esac; }

folder=$1
mkdir -- "$folder/report" || exit 2  # what is there is another run's
set -- "--out=$folder/report"
for format in ${LEAFGATE_FORMATS:-}; do set -- "$@" "--to=$format"; done
if [ -n "${LEAFGATE_ROOT:-}" ]; then absolute "$LEAFGATE_ROOT"; set -- "$@" "--root=$path"; fi
if [ -n "${LEAFGATE_TEST:-}" ]; then absolute "$LEAFGATE_TEST"; set -- "$@" "--test=$path"; fi
IFS=$newline
for org in ${LEAFGATE_ORG:-}; do absolute "$org"; set -- "$@" "--org=$path"; done
absolute "${LEAFGATE_POLICY:-}"; set -- "$@" -- "$path"
if [ -n "${LEAFGATE_DATA:-}" ]; then absolute "$LEAFGATE_DATA"; set -- "$@" "$path"; fi
exec "$folder/bin/leafgate" audit "$@"

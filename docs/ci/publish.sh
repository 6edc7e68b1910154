#!/bin/sh
# Publish a file only if signed statements say that it passed, by this policy.
#
#   publish.sh FOLDER KEY POLICY [OPTION]... --file|--release FILE COMMAND [ARGUMENT]...
#
# FOLDER has the statements that `leafgate attest` wrote. KEY is the public key; keep it, and POLICY, where those who audit
# cannot change them. OPTION is for `leafgate verify`, in one word: --data=FILE, where POLICY does not name the table,
# --ledger=LEDGER, --org=POLICY, --test=FILE or --root=FOLDER.
# The content of FILE is copied first, also where it is a link. COMMAND is run with its arguments and, as the last one, this
# copy: the one that was verified. It is not run unless `leafgate verify` ends in 0; then this ends as that does.
set -efu
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP
export PYTHONNOUSERSITE=1 PYTHONSAFEPATH=1
stop() { printf 'publish: %s\n' "$1" >&2; exit 2; }

newline='
'
[ "$#" -ge 6 ] || stop 'name FOLDER KEY POLICY [OPTION]... --file|--release FILE COMMAND'
folder=$1 key=$2 policy=$3 options=
shift 3
while [ "$#" -gt 0 ]; do
    case "$1" in
        --file | --release) break ;;
        *"$newline"*) stop 'an option has a line break' ;;
        --data=* | --ledger=* | --org=* | --test=* | --root=*) options=$options$1$newline; shift ;;
        *) stop "$1 is neither --file nor --release, nor an option in one word" ;;
    esac
done
[ "$#" -ge 3 ] || stop 'name --file|--release FILE COMMAND'
kind=$1 file=$2
shift 2
copies=$(mktemp -d)
trap 'rm -rf -- "$copies"' EXIT
copy=$copies/$(basename -- "$file")
cp -RL -- "$file" "$copy" || exit 2
IFS=$newline
leafgate verify --key="$key" --policy="$policy" $options "$kind=$copy" -- "$folder" >&2
"$@" "$copy"

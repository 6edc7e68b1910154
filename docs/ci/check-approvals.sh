#!/bin/sh
# Was a file of waivers, as it stands, signed by a reviewer?
#
#     check-approvals.sh WAIVERS ALLOWED_SIGNERS
#
# WAIVERS is a file that git tracks. ALLOWED_SIGNERS lists the reviewers' SSH keys, one a line, as ssh-keygen(1) says
# ("dpo@example.org namespaces="git" ssh-ed25519 AAAA..."); keep it outside of the repository that it judges.
#
# The commit that made the file what it is must be signed by one of these keys, and the file must be that commit's.
# Ends in 0 and names the reviewer, in 1 where no reviewer signed it, in 2 where it cannot be told.
set -eu
unset $(env | sed -n 's/^\(GIT_[A-Za-z0-9_]*\)=.*/\1/p')

stop() {
    code=$1
    shift
    printf 'check-approvals: %s\n' "$*" >&2
    exit "$code"
}

[ "$#" -eq 2 ] || stop 2 'name the file of waivers and the file of allowed signers'
[ -f "$1" ] && [ ! -L "$1" ] || stop 2 "$1: is no file"
[ -f "$2" ] || stop 2 "$2: is no file"
folder=$(cd -- "$(dirname -- "$1")" && pwd -P) || stop 2 "$1: has no folder"
name=$(basename -- "$1")
signers=$(cd -- "$(dirname -- "$2")" && pwd -P)/$(basename -- "$2")

# SSH signatures alone count: other programs of the runner trust keys that nobody here has listed.
repository() {
    git -C "$folder" --no-pager --no-replace-objects --literal-pathspecs \
        -c core.hooksPath=/dev/null -c core.fsmonitor=false -c log.showSignature=false \
        -c gpg.program=false -c gpg.openpgp.program=false -c gpg.x509.program=false \
        -c gpg.ssh.program=ssh-keygen -c gpg.ssh.allowedSignersFile="$signers" \
        -c gpg.minTrustLevel=fully "$@"
}

commit=$(repository log -1 --format=%H -- "$name") || stop 2 "$1: git cannot say which commit it is of"
[ -n "$commit" ] || stop 2 "$1: is in no commit"
committed=$(repository rev-parse --verify --quiet "$commit:./$name") || stop 1 "$1: commit $commit took it away"
[ "$(repository hash-object --no-filters -- "$name")" = "$committed" ] || stop 1 "$1: is not what commit $commit has"
repository verify-commit "$commit" 2>/dev/null || stop 1 "$1: no reviewer signed commit $commit"
signature=$(repository log -1 --format='%G? %GS' "$commit")
[ "${signature%% *}" = G ] || stop 1 "$1: no reviewer signed commit $commit"
printf '%s: signed by %s in commit %s\n' "$1" "${signature#* }" "$commit"

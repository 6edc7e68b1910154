#!/bin/sh
# Install leafgate, from the checkout that this file is part of, with the versions and hashes of requirements.txt.
#
#   install.sh FOLDER      FOLDER is new, empty and outside the audited repository; it receives venv and bin/leafgate
#
# LEAFGATE_INSTALL names further requirements (plugins), one a line. They change no version that is pinned.
#
# No code of the folder that the job stands in is run: Python is isolated (-I: no working folder, no PYTHON* variable, no
# user's packages), pip starts in FOLDER and obeys no PIP_* variable and no user's configuration, only the machine's.
set -efu
CDPATH=
folder=$(cd -- "$1" && pwd -P)
here=$(cd -- "$(dirname -- "$0")" && pwd -P)
cd -- "$folder"
for name in $(env | sed -n -e 's/^\(PYTHON[A-Z0-9_]*\)=.*/\1/p' -e 's/^\(PIP_[A-Z0-9_]*\)=.*/\1/p'); do unset "$name"; done

python -I -m venv venv
pip() { venv/bin/python -I -m pip --isolated --quiet --no-input --disable-pip-version-check "$@"; }
pip install --require-hashes --only-binary :all: --requirement "$here/requirements.txt"
pip install --no-deps --no-build-isolation --no-index "$here/../../.."
if [ -n "${LEAFGATE_INSTALL:-}" ]; then
  printf '%s\n' "$LEAFGATE_INSTALL" > requirements.txt
  pip list --format=freeze > installed.txt
  pip install --constraint installed.txt --requirement requirements.txt
fi

mkdir bin
cat > bin/leafgate <<'LEAFGATE'
#!/bin/sh
exec "${0%/*}/../venv/bin/python" -I "${0%/*}/../venv/bin/leafgate" "$@"
LEAFGATE
chmod 755 bin/leafgate

#!/usr/bin/env bash
# Makes the Python environment of `npm run bench -- peer` in .penstock/peer, from PyPI; nothing of the product needs it.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
home="$here/../../.penstock/peer"
if cmp -s "$here/requirements.txt" "$home/requirements.txt"; then exit 0; fi
python3 -m venv --clear "$home"
"$home/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
cp "$here/requirements.txt" "$home/requirements.txt"

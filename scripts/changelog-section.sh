#!/usr/bin/env bash
# Prints what CHANGELOG.md says of one version; ends with 1 where it says nothing.
set -eu
awk -v heading="## $1" '
  /^## / { inside = index($0, heading) == 1 && substr($0, length(heading) + 1, 1) !~ /[0-9.]/; next }
  inside { print; if (NF) found = 1 }
  END { exit !found }
' "$(dirname "$0")/../CHANGELOG.md"

#!/usr/bin/env bash
# Prints where helm is, and builds it first with Go's toolchain where it is not there yet: once for each version, into a
# folder outside the repository, which takes some minutes. Where there is no Go, or Go cannot reach its modules, it says so
# and ends with 3, and with another status where the build fails. With --find it builds nothing.
set -eu
version=4.3.1

folder="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/penstock/helm-$version"
if [ -x "$folder/helm" ]; then
  echo "$folder/helm"
  exit 0
fi
if [ "${1:-}" = --find ]; then exit 3; fi
if ! command -v go >/dev/null; then
  echo "helm $version is not there, and there is no Go to build it with: what needs helm is skipped" >&2
  exit 3
fi

export GOFLAGS=-mod=mod
if ! go list -m "helm.sh/helm/v4@v$version" >/dev/null; then
  echo "helm $version is not there, and Go cannot reach its source: what needs helm is skipped" >&2
  exit 3
fi

echo "building helm $version with $(go version | cut -d ' ' -f 3) into $folder ..." >&2
mkdir -p "$folder"
# Built beside its place and moved there at once, so that nobody meets half of it.
building=$(mktemp -d "$folder/building.XXXXXX")
trap 'rm -rf "$building"' EXIT
cd "$building"
if ! GOBIN="$building" go install "helm.sh/helm/v4/cmd/helm@v$version" >&2; then
  echo "helm $version cannot be built: mend what Go says, or take Go out of PATH to skip what needs helm" >&2
  exit 1
fi
mv "$building/helm" "$folder/helm"
echo "$folder/helm"

#!/usr/bin/env bash
# make kit: the last commit and its modules in one zip, for a room without a network, and the checksum of that. .ci/room tries it.
#
# The modules are in modules/, each by a replace line of go.mod. With vendor/ nothing would be built where a company has set
# GOFLAGS=-mod=mod: the go command then passes over that folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=redislock-steps
mkdir -p _artifacts
kit=$PWD/_artifacts/$name.zip
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export GOFLAGS= GOWORK=off

git archive --prefix=$name/ HEAD | tar -x -C "$tmp"
cd "$tmp/$name"
go mod vendor -o modules
sed -n 's/^# \(.*\) .*/\1/p' modules/modules.txt | while read -r module; do
	cp "$(go list -m -f '{{.GoMod}}' "$module")" "modules/$module/go.mod"
	chmod u+w "modules/$module/go.mod"
	go mod edit -replace "$module=./modules/$module"
done
rm modules/modules.txt

cd "$tmp"
rm -f "$kit"
zip -qrX "$kit" $name
cd "${kit%/*}"
{ sha256sum $name.zip 2>/dev/null || shasum -a 256 $name.zip; } >$name.zip.sha256
size=$(wc -c <$name.zip)
echo "_artifacts/$name.zip: $((size / 1000)) kB"
[ "$size" -le 20000000 ]

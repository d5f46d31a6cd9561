#!/usr/bin/env bash
# make change: looks at what has changed since the last commit, and runs what that needs. It says what it does, and what is left.
set -euo pipefail
cd "$(dirname "$0")/../.."

does() { printf '\n== %s\n' "$*"; }
changed() { git status --porcelain --untracked-files=all -- "$@" | sed 's/^...//; s/.* -> //; s/"//g'; }
pages() { go run -C docs/keep ./pages "$@"; }
was() { git show "HEAD:$1" 2>/dev/null; }

# Files that were equal stay equal: what was changed in one step goes to all others that had the same file. The epilogue's
# copy of the test harness differs in its package clause.
alike() { sed 's/^package fencing$/package redislock/'; }
does "equal files"
for file in $(changed 'step0*.go' 'docs/fencing/lab*.go' 'docs/stories/lab*.go'); do
	[ -f "$file" ] && before=$(was "$file" | alike) && [ -n "$before" ] || continue
	for other in step0*/"${file##*/}" docs/fencing/"${file##*/}" docs/stories/"${file##*/}"; do
		[ -f "$other" ] && [ "$other" != "$file" ] && [ "$(was "$other" | alike)" = "$before" ] || continue
		cmp -s <(alike <"$file") <(alike <"$other") && continue
		if [ "$(alike <"$other")" != "$before" ]; then
			echo "$file and $other were equal, and have been changed in two ways: make them equal, or copy one over the other"
			exit 1
		fi
		case $other in
		docs/fencing/*) sed 's/^package redislock$/package fencing/' "$file" >"$other" ;;
		*) alike <"$file" >"$other" ;;
		esac
		echo "$file -> $other"
	done
done

go_files=$(changed '*.go' | xargs -r ls 2>/dev/null || true)
if [ -n "$go_files" ]; then
	does "gofmt, go vet"
	gofmt -l -w $go_files
	go vet ./...
	does "what holds for all steps: copies, hints, budgets"
	go test ./docs/internal/course
fi
# A story or a lock that is in several steps was changed in the first of them.
first=$(changed 'step0*.go' 'docs/stories/more_*' ':!*/lab*_test.go' | sed -En 's/^(step0|docs\/stories\/more_)([1-8]).*/\2/p' | sort | head -1)
locks=$(changed 'step0*.go' ':!*_test.go' | sed -n 's/^step0\([1-8]\).*/\1/p' | sort -u)
if [ -n "$first$(changed 'step0*/lab*_test.go' docs/stories)" ]; then
	does "the stories are green"
	go test ./step0... ./docs/stories ./docs/fencing
	for n in ${first:-1 2 3 4 5 6 7 8}; do
		does "step $n is red on the lock before it"
		go run ./docs/tour red "$n" >/dev/null
	done
	for n in $locks; do
		[ "$n" = 8 ] && continue
		does "step $((n + 1)) is red on the lock of step $n"
		go run ./docs/tour red $((n + 1)) >/dev/null
	done
fi

if [ -n "$(changed docs/keep/libs docs/keep/go.mod docs/stories 'step08*_test.go')" ]; then
	does "the stories on libraries"
	go run -C docs/keep ./libs -all
fi
if [ -n "$(changed docs/play)" ]; then
	does "the page in the browser, of its sources"
	go run -C docs/keep ./bundle
fi
if [ -n "$locks$(changed docs/keep/explore docs/internal/trace 'docs/internal/course/*.go')" ]; then
	does "all pages, the tables and the page in the browser as well (minutes)"
	pages
elif [ -n "$(changed '*.go' docs/internal docs/tour)" ]; then
	does "all pages: outputs, excerpts, pictures"
	pages $(git ls-files '*.md')
elif [ -n "$(changed '*.md')" ]; then
	does "these pages"
	pages $(changed '*.md')
fi

does "what is left"
for n in $locks; do echo "  go run -C docs/keep ./why $n: does a story need each line? (minutes; CI does it)"; done
[ -z "$locks" ] || echo "  make race: the locks, twenty times in the race detector"
[ -z "$first" ] || echo "  ATTEMPTS=step0$first go test -run TestAttempts ./docs/tour: a new story can become the first failure of an attempt (CI does it)"
echo "  git diff, and a commit that says why"

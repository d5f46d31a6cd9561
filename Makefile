# Short names for commands that work without make as well. N is a step, 1 to 8: make red N=4

.PHONY: help change tour test test-tools test-real real-faults race red green diff try matrix explore play copies docs check-docs links lint check

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

tour: ## play the course: every lock fails, and the next one holds
	go run ./docs/tour

test: ## all tests
	go test ./...

test-tools: ## the tests that go test ./... leaves out: the tour's slow ones, all attempts, and docs/keep (four minutes)
	BUILDS=1 ATTEMPTS=all go test -timeout 30m ./docs/tour ./docs/internal/mutant
	BUILDS=1 go test -C docs/keep ./pages ./bench ./realfaults ./explore/...

test-real: ## the stories of all steps on five real redis-servers, in real time (three minutes)
	go run -C docs/keep ./realfaults/servers go run ./docs/tour real all

real-faults: ## real servers and holders, killed, stopped, failed over (two minutes)
	REALFAULTS=1 go test -C docs/keep -v -count=1 -parallel 16 -timeout 20m ./realfaults

race: ## all tests, twenty times, shuffled, with the race detector
	go test -race -shuffle=on -count=20 -timeout 30m ./...

red: ## step N's stories on the lock before it (make red N=4)
	go run ./docs/tour red $(N)

green: ## step N's stories on its own lock
	go run ./docs/tour green $(N)

diff: ## what step N changes in the lock
	go run ./docs/tour diff $(N)

try: ## step N's stories on your own lock, in mylock/
	go run ./docs/tour try $(N)

matrix: ## every guarantee on every lock, written to docs/read/matrix.md
	go run ./docs/tour matrix

explore: ## every lock under every fault in every order, written to docs/read/faults.md and docs/play/index.html
	go run ./docs/explore

play: ## break these locks yourself, in a browser
	go run ./docs/play

change: ## look at what has changed, and run what that needs
	bash docs/keep/change.sh

copies: ## check that equal files are equal
	go test -count=1 ./docs/internal/course

docs: ## regenerate what pages show of the code: outputs, diffs, pictures, matrix.md, faults.md, docs/play
	go run -C docs/keep ./pages

check-docs: ## check that all of that is what the code gives now
	go run -C docs/keep ./pages -check

links: ## check the pages' links and anchors (needs npm)
	cd docs/keep/links && npm ci --no-fund --no-audit --loglevel=error && npm test

lint: ## gofmt, go vet and staticcheck
	test -z "$$(gofmt -l .)"
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

check: ## everything that CI checks
	bash .ci/run

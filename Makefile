# Names for what is more than one command, or long. The course itself is one: go run ./docs/tour help

.PHONY: help change test test-tools test-real real-faults race explore copies docs kit prose lint check

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## all tests
	go test ./...

test-tools: ## the tests that go test ./... leaves out: the tour's slow ones, all attempts, and docs/keep (four minutes)
	BUILDS=1 ATTEMPTS=all go test -timeout 30m ./docs/tour
	BUILDS=1 go test -C docs/keep ./pages ./why ./site ./bench ./realfaults ./explore/...

test-real: ## the stories of all steps on five real redis-servers, in real time (three minutes)
	go run -C docs/keep ./realfaults/servers go run ./docs/tour real all

real-faults: ## real servers and holders, killed, stopped, failed over (two minutes)
	REALFAULTS=1 go test -C docs/keep -v -count=1 -parallel 16 -timeout 20m ./realfaults

race: ## all tests, twenty times, shuffled, with the race detector
	go test -race -shuffle=on -count=20 -timeout 30m ./...

explore: ## every lock under every fault in every order, and the locks of the bench, written to docs/explore/README.md and docs/play/index.html (three minutes)
	go run ./docs/explore

change: ## look at what has changed, and run what that needs
	bash docs/keep/change.sh

copies: ## check that equal files are equal
	go test -count=1 ./docs/internal/course

docs: ## regenerate what pages show of the code: outputs, diffs, pictures, docs/explore, docs/play
	go run -C docs/keep ./pages

kit: ## one zip for a workshop without a network: the last commit and its modules (docs/read/workshop.md)
	bash docs/keep/kit.sh

prose: ## words, form, links and Chinese spacing of everything that people read (needs npm and a C compiler)
	cd docs/keep/prose && npm ci --no-fund --no-audit --loglevel=error && npm test --silent

lint: prose ## gofmt, go vet, staticcheck, and prose
	test -z "$$(gofmt -l .)"
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

check: ## everything that CI checks
	bash .ci/run

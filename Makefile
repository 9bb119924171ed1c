# Everything that is done with this repository. `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help run test test-java lint generate bench fuzz examples

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 30s

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Show the whole story on an embedded server; needs Go alone
	go run ./cmd/eventbus demo --redis embedded

test: ## Run all tests with the race detector; installs redis-server where it may
	@.ci/need redis-server gcc
	go test -race -timeout 20m ./...

test-java: ## Run the bus beside Java programs, on Redisson and on Thrift; installs Java and Maven where it may
	@.ci/need redis-server gcc thrift openssl java javac keytool mvn
	go test -race -timeout 30m -tags java -count 1 ./examples/java

lint: ## Check gofmt, go vet and staticcheck; generated code is left out
	@unformatted=$$(gofmt -l $(filter-out gen-go/,$(wildcard */))); \
	test -z "$$unformatted" || { echo "gofmt -w is due for:" $$unformatted >&2; exit 1; }
	go vet -tags java $$(go list -tags java ./... | grep -v /gen-go/)
	go run $(STATICCHECK) -tags java $$(go list -tags java ./... | grep -v /gen-go/)

generate: ## Write the generated code anew; needs thrift-compiler
	@.ci/need thrift
	go generate ./...

bench: ## Measure against peers; see bench/
	cd bench && go run .

fuzz: ## Run each fuzz target for FUZZTIME (30s)
	@grep -rEo --include='*_test.go' --exclude-dir=bench '^func Fuzz\w*' . | \
	sed -E 's|/[^/]*:func | |' | sort | while read -r dir target; do \
		echo "$$dir $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$dir" </dev/null || exit 1; \
	done

examples: ## Run each example; each must end by itself with 0
	@.ci/need redis-server thrift python3-thrift
	@for run in examples/*/run.sh; do \
		echo "$$run"; \
		bash "$$run" </dev/null || exit 1; \
	done

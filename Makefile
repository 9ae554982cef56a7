# What there is to do in this repository. `make` alone lists it.
TOOL = go tool -modfile=internal/tools/go.mod
FUZZTIME ?= 20s
BENCHTIME ?= 1s

.PHONY: list generate test lint bench fuzz

list: ## List the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "%-10s %s\n", $$1, $$2}' Makefile

# Types that several domains use are generated once, in transport/internal/shared.
SHARED = AlarmSeverity|Success
BRIDGE = transport/bridgeapi/internal/gen/oapi-codegen.yaml
SERVERS = $(filter-out $(BRIDGE),$(wildcard transport/*/internal/gen/oapi-codegen.yaml transport/*/*/internal/gen/oapi-codegen.yaml))

# The sources of the console. Its npm packages are installed again when the lock file has changed.
CONSOLE = transport/console/web

generate: ## Rebuild the generated code from the documents in openapi/ and proto/, the table of the metamodel of AAS and the sources of the console
	$(TOOL) oapi-codegen -config openapi/client/oapi-codegen.yaml openapi/openapi.yaml
	$(TOOL) oapi-codegen -config transport/internal/shared/oapi-codegen.yaml openapi/openapi.yaml
	sed -E 's@"#(/components/schemas/($(SHARED)))"@"openapi.yaml#\1"@' openapi/openapi.yaml >openapi/servers.tmp.yaml
	for c in $(SERVERS); do $(TOOL) oapi-codegen -config $$c openapi/servers.tmp.yaml || exit 1; done; rm openapi/servers.tmp.yaml
	for c in openapi/bridgeclient/oapi-codegen.yaml $(BRIDGE); do $(TOOL) oapi-codegen -config $$c openapi/bridge.yaml || exit 1; done
	cd proto && $(subst internal,../internal,$(TOOL)) buf generate
	go run ./aas/internal/metamodel/gen
	cd $(CONSOLE) && { test node_modules -nt package-lock.json || npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules; }
	cd $(CONSOLE) && npm run --silent types && npm run --silent check
	cd internal/tools && go run ./bundle ../../$(CONSOLE) ../../transport/console/dist
	cd internal/tools && go run ./bundle ../../$(CONSOLE) ../../transport/console/dist-bridge src/bridge

test: ## Run the tests
	go test ./...

lint: ## Check formatting, vet and lint
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not gofmt-ed: $$unformatted"; exit 1; }
	go vet ./...
	$(TOOL) golangci-lint run ./...
	cd proto && $(subst internal,../internal,$(TOOL)) buf lint && $(subst internal,../internal,$(TOOL)) buf format --diff --exit-code

bench: ## Run all benchmarks; docs/benchmarks.md says what they measure
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

fuzz: ## Run every fuzz test for FUZZTIME each
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x $$p || exit 1; done; done

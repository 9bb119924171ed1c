#!/usr/bin/env bash
# Fetches real webhook payloads and sends them through the bus. Needs Go, npm and
# redis-server (or REDIS_URL of a server to use); ends by itself.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent @octokit/webhooks-examples@7.6.1 >/dev/null && tar -xzf ./*.tgz)

go build -o "$work/github-webhooks" ./examples/github-webhooks
"$work/github-webhooks" "$work/package/api.github.com/index.json"

#!/usr/bin/env bash
# Runs the README's first example on a redis-server of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
port=$((20000 + RANDOM % 10000))
redis-server --port "$port" --bind 127.0.0.1 --save "" --dir "$work" --logfile "$work/log" &
server=$!
trap 'kill "$server"; wait "$server" || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  if redis-cli -p "$port" ping >/dev/null 2>&1; then break; fi
  sleep 0.1
done

output=$(REDIS_ADDR="127.0.0.1:$port" go run ./examples/quickstart 2>&1)
echo "$output"
grep -q ' welcome, Ada$' <<<"$output"
grep -q ' sent, ran, closed: <nil> <nil> <nil>$' <<<"$output"

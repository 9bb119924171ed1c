#!/usr/bin/env bash
# Sends an event from Python, over Thrift, to an eventbus serve with a Redis inside.
# Needs Go, Thrift's compiler and its library for Python (Debian: apt-get install
# thrift-compiler python3-thrift; pip: thrift); ends by itself.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=python3
if ! "$python" -c 'import thrift.Thrift' 2>/dev/null; then
  python=/usr/bin/python3 # Debian's packages are seen by Debian's Python alone
fi

work=$(mktemp -d)
server=
trap '[[ -z $server ]] || { kill "$server"; wait "$server" || true; }; rm -rf "$work"' EXIT
thrift -o "$work" --gen py thrift/eventbus.thrift
go build -o "$work/eventbus" ./cmd/eventbus
"$work/eventbus" serve --redis embedded --http '' --thrift 127.0.0.1:0 2>"$work/log" &
server=$!
for _ in $(seq 200); do
  if grep -qx ready "$work/log"; then break; fi
  sleep 0.1
done
port=$(sed -nE 's/.* thrift=127\.0\.0\.1:([0-9]+).*/\1/p' "$work/log")
[[ -n $port ]] || { cat "$work/log" >&2; exit 1; }

output=$(PYTHONPATH=$work/gen-py PYTHONDONTWRITEBYTECODE=1 "$python" examples/python/send.py 127.0.0.1 "$port")
echo "$output"
grep -qE '^sent [0-9a-f-]{36}; orders holds 1, at most 1000$' <<<"$output"

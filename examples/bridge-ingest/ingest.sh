#!/bin/sh
# How does equipment that cannot be asked deliver its values? It posts them to a bridge. This script sends the load and the uptime
# of a Linux machine, once a second.
#
#   INGEST_TOKEN=... ingest.sh [URL [DRIVER [COUNT]]]
set -eu
url=${1:-http://localhost:5100} driver=${2:-machine} count=${3:-1000000000}

while [ "$count" -gt 0 ]; do
	read -r load _ </proc/loadavg
	read -r uptime _ </proc/uptime
	# The time is taken once: what is sent again after a lost answer is the same sample.
	now=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
	if ! curl --silent --show-error --fail --max-time 10 --retry 10 --retry-all-errors --output /dev/null \
		--header "Authorization: Bearer ${INGEST_TOKEN:-}" --header 'Content-Type: application/json' \
		--data "[{\"name\":\"load\",\"value\":$load,\"timestamp\":\"$now\"},{\"name\":\"uptime\",\"value\":$uptime,\"timestamp\":\"$now\"}]" \
		"$url/api/bridge/ingest/$driver"; then
		echo "not delivered: the values of $now" >&2
	fi
	count=$((count - 1))
	[ "$count" = 0 ] || sleep 1
done

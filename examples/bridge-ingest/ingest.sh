#!/bin/sh
# How does equipment that cannot be asked deliver its values? It posts them to a bridge. This script sends the load and the uptime
# of a Linux machine, once a second.
#
#   INGEST_TOKEN=... ingest.sh [URL [DRIVER [COUNT]]]
set -eu
url=${1:-http://localhost:5100} driver=${2:-machine} count=${3:-1000000000}

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# deliver posts a body. It posts it again while the bridge does not answer or asks to wait, and not when the bridge refuses it.
deliver() {
	tries=10
	while :; do
		: >"$answer"
		status=$(curl --silent --max-time 10 --output "$answer" --write-out '%{http_code}' \
			--header "Authorization: Bearer ${INGEST_TOKEN:-}" --header 'Content-Type: application/json' \
			--data "$1" "$url/api/bridge/ingest/$driver") || status=000
		tries=$((tries - 1))
		case $status in
		202) return 0 ;;
		000 | 408 | 429 | 5??) [ "$tries" -gt 0 ] || return 1 ;;
		*) return 1 ;;
		esac
		sleep 1
	done
}

while [ "$count" -gt 0 ]; do
	read -r load _ </proc/loadavg
	read -r uptime _ </proc/uptime
	# The time is taken once: what is sent again after a lost answer is the same sample.
	now=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
	if ! deliver "[{\"name\":\"load\",\"value\":$load,\"timestamp\":\"$now\"},{\"name\":\"uptime\",\"value\":$uptime,\"timestamp\":\"$now\"}]"; then
		echo "not delivered: the values of $now: $status $(cat "$answer")" >&2
	fi
	count=$((count - 1))
	[ "$count" = 0 ] || sleep 1
done

#!/bin/sh
# An MCP server over stdio for tests. $1 says how it behaves, $2 is a file for its process id.
[ -n "$2" ] && echo $$ > "$2"
message() { printf '%s\n' "$1"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
tell() { answer 1 "{\"content\":[],\"structuredContent\":$1}"; }

case "$1" in
hangs) exec sleep 1000 ;;
dies) echo "no $TOKEN here" >&2; exit 3 ;;
floods) exec yes '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}' ;;
mutters) yes 'all is well' >&2 ;;
closes) exec sleep 1000 >&- ;;
breaks) read -r _; message '{"jsonrpc":"2.0","id":0,'; exec sleep 1000 ;;
esac

message 'Welcome!'
read -r _
answer 0 '{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}'
read -r _
read -r asked
case "$1" in
recovers)
  [ -e "$2.asked" ] || { message "$asked" > "$2.asked"; exit 3; }
  tell "[$asked,$(cat "$2.asked")]"
  ;;
tells) tell "{\"token\":\"$TOKEN\",\"more\":\"$3\",\"asked\":$asked}" ;;
names) tell "[$(env | sed 's/=.*//; s/.*/"&",/' | tr -d '\n')0]" ;;
counts)
  echo $$ >> "$2.starts"
  calls=0
  while :; do
    id=$(printf '%s' "$asked" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
    case "$asked" in
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"count","description":"Counts.","inputSchema":{"type":"object"}}]}' ;;
    *'"die":true'*) exit 3 ;;
    *'"hang":true'*) : > "$2.hangs"; exec sleep 1000 ;;
    *)
      calls=$((calls + 1))
      answer "$id" "{\"content\":[{\"type\":\"text\",\"text\":\"call $calls with $TOKEN\"}]}"
      ;;
    esac
    read -r asked || exit 0
  done
  ;;
asks)
  message '{"jsonrpc":"2.0","id":"p","method":"ping"}'
  read -r pong
  message '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'
  read -r roots
  tell "[$pong,$roots]"
  ;;
leaves | leaves-stubborn)
  [ "$1" = leaves ] || trap '' TERM
  sleep 1000 >&2 &
  echo $! > "$2"
  tell '{}'
  ;;
stays)
  tell '{}'
  trap '' TERM
  sleep 1000
  ;;
esac

#!/bin/sh
# Stands before the server for `npm start`: supervise.sh <parent or 0> <program> <arguments …>
# A shell, because it costs less than 1 MB where another Node would cost 40.
#
# It passes SIGTERM, SIGINT and SIGHUP on, ends as the server ends, and starts a server again that has ended without being
# told to: by its watchdog (70) or by a fatal error (SIGILL, SIGTRAP, SIGABRT, SIGSEGV; memory that is used up is one of
# them), at most 5 times in 10 minutes, after 1, 2, 4, 8 and 16 s. Not after SIGKILL: that was somebody's wish.
#
# The server gets this process's number and its parent's as `--parent`: when one of them is gone it stops, because nobody
# passes `kill -9` on.

parent=$1
shift
set -- "$@" --parent=$$
[ "$parent" = 0 ] || set -- "$@" "--parent=$parent"

child=''
heard=''
interrupted=''
starts=''

pass_on() {
  heard=$1
  interrupted=yes
  [ -z "$child" ] || kill -s "$1" "$child" 2>/dev/null
}
trap 'pass_on TERM' TERM
trap 'pass_on INT' INT
trap 'pass_on HUP' HUP
# Nobody reads what this says: nothing to end for.
trap '' PIPE

# Waits for $child; its exit code is in $code.
await_child() {
  code=''
  while :; do
    interrupted=''
    wait "$child"
    told=$?
    # 127: it was waited for already, and a signal came in the same moment.
    [ "$told" = 127 ] && [ -n "$code" ] || code=$told
    [ -z "$interrupted" ] && break
  done
}

# Ends as the server did: by the same signal, or with the same code.
leave() {
  trap - TERM INT HUP
  case $code in 129 | 130 | 137 | 143) kill -$((code - 128)) $$ ;; esac
  exit "$code"
}

while :; do
  child=''
  "$@" &
  child=$!
  [ -z "$heard" ] || kill -s "$heard" "$child" 2>/dev/null
  await_child
  case $code in 70 | 132 | 133 | 134 | 139) ;; *) leave ;; esac
  [ -z "$heard" ] || leave

  now=$(date +%s)
  recent=''
  count=0
  for start in $starts; do
    [ $((now - start)) -lt 600 ] && recent="$recent $start" && count=$((count + 1))
  done
  if [ "$count" -ge 5 ]; then
    echo "autograph: the server ended with $code for the sixth time in 10 minutes and is not started again" >&2
    leave
  fi
  pause=$((1 << count))
  starts="$recent $now"
  echo "autograph: the server ended with $code and is started again in $pause s" >&2
  sleep "$pause" &
  child=$!
  await_child
  case $heard in HUP) code=129 ;; INT) code=130 ;; TERM) code=143 ;; *) continue ;; esac
  leave
done

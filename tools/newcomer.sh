#!/usr/bin/env bash
# The README's two commands as somebody meets them who has git and Node only: the last commit, cloned into an empty
# folder, with an empty home and an empty npm cache. Ends with a line that says so, or with the command that failed.
# Usage: tools/newcomer.sh [PORT]
set -euo pipefail

port=${1:-4499}
here=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
# As a home folder: as root, PostgreSQL runs as another user, who must get through it.
chmod 755 "$place"
server=
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$place"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Only what a fresh account has; certificates and proxies belong to the machine's way out.
clean=(env -i HOME="$place/home" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8)
for name in NODE_EXTRA_CA_CERTS HTTPS_PROXY https_proxy NO_PROXY no_proxy; do
  if [ -n "${!name:-}" ]; then clean+=("$name=${!name}"); fi
done

mkdir "$place/home"
git clone --quiet --no-hardlinks "$here" "$place/autograph"
cd "$place/autograph"
echo "node $("${clean[@]}" node --version), npm $("${clean[@]}" npm --version), commit $(git rev-parse --short HEAD)"

started=$SECONDS
"${clean[@]}" PORT="$port" npm start >"$place/start.log" 2>&1 &
server=$!
until grep -q '^ready at ' "$place/start.log"; do
  if ! kill -0 "$server" 2>/dev/null || [ $((SECONDS - started)) -gt 300 ]; then
    cat "$place/start.log"
    echo "npm start failed"
    exit 1
  fi
  sleep 0.2
done
cat "$place/start.log"
echo "npm start was ready after $((SECONDS - started)) s, with $(du -sm node_modules | cut -f 1) MB of packages"
kill -TERM "$server"
wait "$server"
server=

"${clean[@]}" npm test
echo "a newcomer's two commands passed in $((SECONDS - started)) s"

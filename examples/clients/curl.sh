#!/bin/sh
# The main job with curl: list the agents, run one, watch it over Server-Sent Events, read its steps.
#   AUTOGRAPH_API_KEY=ag_live_… sh examples/clients/curl.sh agent_… '{"n": 1}'
set -eu
url=${AUTOGRAPH_URL:-http://127.0.0.1:4400}/graphql
agent=${1:?"say which agent: agent_…"}
input=${2:-}
[ -n "$input" ] || input='{}'
ask() { # ask ACCEPT QUERY VARIABLES
  curl --no-buffer --silent --show-error --fail-with-body "$url" -H "Authorization: Bearer $AUTOGRAPH_API_KEY" \
    -H "Content-Type: application/json" -H "Accept: $1" -d "{\"query\": \"$2\", \"variables\": $3}"
  echo
}
ask application/json 'query { agents { id handle inputFields { name type required } } }' '{}'
started=$(ask application/json 'mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status createdAt } }' "{\"input\": {\"agentId\": \"$agent\", \"input\": $input}}")
printf '%s\n' "$started"
run=$(printf '%s' "$started" | sed -n 's/.*"id":"\(run_[a-z0-9]*\)".*/\1/p')
[ -n "$run" ] || exit 1
ask text/event-stream 'subscription ($run: ID!) { runUpdated(runId: $run) { id status currentStep progress } }' "{\"run\": \"$run\"}"
ask application/json 'query ($run: ID!) { run(id: $run) { status output steps { number name status duration } } }' "{\"run\": \"$run\"}"

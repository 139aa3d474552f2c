/**
 * Runs an agent and shows its steps as they happen: fetch for the operations, graphql-ws for the subscription.
 *
 *     AUTOGRAPH_API_KEY=ag_live_… npx node examples/clients/run-and-watch.ts order-intake '{"customer": "Ada", …}'
 *
 * `npx node` is the Node that came with `npm ci`; one of your own runs it from 24 on.
 */
import { createClient } from "graphql-ws";

const [handle, input = "{}"] = process.argv.slice(2);
const base = process.env["AUTOGRAPH_URL"] ?? "http://127.0.0.1:4400";
const authorization = `Bearer ${process.env["AUTOGRAPH_API_KEY"]}`;

async function graphql<Data>(query: string, variables: object = {}): Promise<Data> {
  const response = await fetch(`${base}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: { message: string }[] };
  if (errors) throw new Error(errors.map(({ message }) => message).join("; "));
  return data;
}

type Agents = { agents: { id: string; handle: string }[] };
const { agents } = await graphql<Agents>("query { agents { id handle } }");
const agentId = agents.find((agent) => agent.handle === handle)?.id;
if (agentId === undefined) {
  console.error(`say which agent: one of ${agents.map((agent) => agent.handle).join(", ")}`);
  process.exit(1);
}

type Started = { runAgent: { id: string } };
const start = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
const { runAgent } = await graphql<Started>(start, { input: { agentId, input: JSON.parse(input) } });

const client = createClient({
  url: `${base.replace(/^http/, "ws")}/graphql`,
  connectionParams: { Authorization: authorization },
});

/** The last revision seen: a connection that breaks is made again by graphql-ws, and goes on behind it. */
let after = 0;
const query = `subscription ($runId: ID!, $after: Int!) {
  runEvents(runId: $runId, after: $after) { revision run { status output error { detail } } step { number name status duration } }
}`;
type Step = { number: number; name: string; status: string; duration: number | null };
type Run = { status: string; output: unknown; error: { detail: string | null } | null };
type Events = { runEvents: { revision: number; run: Run | null; step: Step | null } };

const variables = {
  runId: runAgent.id,
  get after() {
    return after;
  },
};
for await (const { data, errors } of client.iterate<Events>({ query, variables })) {
  if (!data) throw new Error(errors?.[0]?.message);
  const { revision, run, step } = data.runEvents;
  after = revision;
  if (step) console.log(`${step.number} ${step.name}: ${step.status} (${step.duration ?? 0} ms)`);
  if (!run) continue;
  console.log(`run ${run.status}`, JSON.stringify(run.output ?? run.error?.detail ?? null));
  if (run.status === "failed" || run.status === "cancelled") process.exitCode = 1;
}
await client.dispose();

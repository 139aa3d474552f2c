/**
 * A web backend that starts runs: it takes an order from a browser, starts the agent `order-intake` for it, shows the run live, and answers
 * with its output. The key stays here. It starts and reads runs of this one agent and can do nothing else.
 *
 *     export AUTOGRAPH_API_KEY=$(npx autograph keys create backend --preset run-agent --agent demo/order-intake)
 *     npx node examples/automations/web-backend.ts
 *
 * Then, as a browser would:
 *
 *     curl http://127.0.0.1:4600/orders/4711 -d '{"customer": "Ada", "speed": "rush", "deliverBy": "2026-12-01"}'
 *     curl -N http://127.0.0.1:4600/runs/run_…/events
 *     curl http://127.0.0.1:4600/runs/run_…
 *
 * The number of the order is the idempotency key: the same order sent twice is one run.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { createClient } from "graphql-ws";

const { AUTOGRAPH_URL: base = "http://127.0.0.1:4400", AUTOGRAPH_API_KEY, PORT = "4600" } = process.env;
if (!AUTOGRAPH_API_KEY) throw new Error("set AUTOGRAPH_API_KEY");
const authorization = `Bearer ${AUTOGRAPH_API_KEY}`;

type Problem = { message: string; extensions: { code: string; fields?: { path: string; message: string }[] } };
/** A refusal of GraphQL, with its code. */
class Refusal extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

async function graphql<Data>(query: string, variables: object): Promise<Data> {
  const response = await fetch(`${base}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: Problem[] };
  if (errors) throw new Refusal(errors[0]!);
  return data;
}

const { agentByHandle } = await graphql<{ agentByHandle: { id: string } }>(
  "query ($project: String!, $agent: String!) { agentByHandle(project: $project, agent: $agent) { id } }",
  { project: "demo", agent: "order-intake" },
);

/** One connection for all browsers. It is made when the first one watches, and made again if it breaks. */
const live = createClient({
  url: `${base.replace(/^http/, "ws")}/graphql`,
  connectionParams: { Authorization: authorization },
  retryAttempts: Infinity,
});

async function start(order: string, input: unknown): Promise<{ id: string; status: string }> {
  const mutation = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status } }";
  type Started = { runAgent: { id: string; status: string } };
  return (
    await graphql<Started>(mutation, { input: { agentId: agentByHandle.id, input, idempotencyKey: `order-${order}` } })
  ).runAgent;
}

async function read(id: string): Promise<object> {
  const query = "query ($id: ID!) { run(id: $id) { id status progress output error { title detail } } }";
  return (await graphql<{ run: object }>(query, { id })).run;
}

/** Server-Sent Events, one for each change; the last one has the output. */
async function follow(runId: string, response: ServerResponse): Promise<void> {
  const query = `subscription ($runId: ID!, $after: Int!) {
    runEvents(runId: $runId, after: $after) { revision run { status output error { title detail } } step { number name status } } }`;
  type Events = { runEvents: { revision: number; run: object | null; step: object | null } };
  // A connection that is made again goes on behind the last revision.
  let after = 0;
  const variables = {
    runId,
    get after() {
      return after;
    },
  };
  await read(runId);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  const events = live.iterate<Events>({ query, variables });
  response.once("close", () => void events.return?.());
  for await (const { data } of events) {
    if (!data) break;
    ({ revision: after } = data.runEvents);
    const { run, step } = data.runEvents;
    if (run) response.write(`event: run\ndata: ${JSON.stringify(run)}\n\n`);
    if (step) response.write(`event: step\ndata: ${JSON.stringify(step)}\n\n`);
  }
  response.end();
}

/** A mistake in the order is the browser's (400), all else is ours to look at (502). */
function refuse(response: ServerResponse, error: unknown): void {
  const problem = error instanceof Refusal ? error.problem : undefined;
  const code = problem?.extensions.code;
  const status = { BAD_USER_INPUT: 400, NOT_FOUND: 404, CONFLICT: 409 }[code ?? ""] ?? 502;
  if (status === 502) console.error(error);
  // "input.input.speed" is the order's "speed": `input` of RunAgentInput, within the argument `input`.
  const fields = problem?.extensions.fields?.map((one) => ({ ...one, path: one.path.replace(/^input\.input\./, "") }));
  answer(response, status, { code: code ?? "UNAVAILABLE", fields });
}

const answer = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, what, id = "", more] = request.url!.split("/");
  if (request.method === "POST" && what === "orders") answer(response, 202, await start(id, await json(request)));
  else if (what === "runs" && more === "events") await follow(id, response);
  else if (what === "runs") answer(response, 200, await read(id));
  else answer(response, 404, { code: "NOT_FOUND" });
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    if (response.headersSent) response.end();
    else refuse(response, error);
  });
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}`);
});

/** Two organizations on one server: one that attacks, with enough in it to make its queries large, and its neighbour. */
import { publish, start } from "../agents.ts";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { agentOf } from "../runs.ts";
import type { Ids } from "./values.ts";

/** Who sends a case. */
export type As = "stranger" | "owner" | "viewer" | "wrong";

export type HostileWorld = {
  server: TestServer;
  ids: Ids;
  token(as: As): string | null;
  /** A viewer whose session has been ended by a case. */
  signInAgain(): Promise<void>;
  neighbour: { apiKey: string; agentId: string };
  /** Agents of the attacking organization that everybody's cases may run. */
  agents: { echo: string };
} & AsyncDisposable;

/** One that fills the answers: ten of them are the most that a request's body lets a caller store at once. */
const LARGE_INPUT_BYTES = 600_000;

type Size = { largeRuns: number; smallRuns: number };

const LOGIN =
  "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";

export async function startHostileWorld(size: Size, env: Record<string, string> = {}): Promise<HostileWorld> {
  const server = await startTestServer({ env });
  const other = await server.organization("neighbour");
  const agentId = await publish(server, "three", other);
  const member = await server.member("viewer@example.org", "viewer");
  const agents = await fill(server, size);
  let viewer = "";
  const signInAgain = async (): Promise<void> => {
    // Most requests that are refused came without the viewer's token, and there is a limit to signing in.
    if (viewer !== "" && !(await server.graphql("{ me { id } }", {}, viewer)).errors) return;
    const { errors } = await server.graphql(LOGIN, member, null);
    // A case may be that the viewer leaves.
    if (errors?.[0]?.extensions.code === "FORBIDDEN") await server.member(member.email, "viewer");
    viewer = (await server.data(LOGIN, member, null)).login.accessToken;
  };
  await signInAgain();
  const tokens = {
    stranger: () => null,
    owner: () => server.world.apiKey,
    viewer: () => viewer,
    wrong: () => "ag_live_x",
  };
  return {
    server,
    ids: await idsOf(server, other.apiKey),
    token: (as) => tokens[as](),
    signInAgain,
    neighbour: { apiKey: other.apiKey, agentId },
    agents,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function fill(server: TestServer, { largeRuns, smallRuns }: Size): Promise<{ echo: string }> {
  const echo = await publish(server, "echo");
  const others = await Promise.all(
    (["three", "approve", "failing", "patient"] as const).map((name) => publish(server, name)),
  );
  const many = await agentOf(
    server,
    "do: [{loop: {for: {in: '${ [range(300)] }'}, do: [{one: {set: {n: 1}}}]}}]",
    "many",
  );
  const tried = await agentOf(
    server,
    `do: [{again: {try: [{broken: {raise: {error: {type: 'https://example.org/errors/x', status: 500}}}}],
      catch: {retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 60}}}}}}]`,
    "tried",
  );
  const text = "0123456789".repeat(LARGE_INPUT_BYTES / 10);
  for (let count = 0; count < largeRuns; count++) await start(server, echo, { text });
  const started = [...others.flatMap((id) => Array.from({ length: smallRuns }, () => id)), many, tried];
  for (const id of started) await start(server, id, { n: 1 });
  const open = "{ runs(first: 200, filter: {status: [pending, running]}) { nodes { agent { handle } } } }";
  await eventually(async () => {
    const { runs } = await server.data(open);
    return runs.nodes.every((run: { agent: { handle: string } }) => run.agent.handle === "patient");
  }, 60_000);
  return { echo };
}

const EVERYTHING = `{ me { id } organization { id } projects { nodes { id } } apiKeys { nodes { id } } agents { id }
  runs(first: 50) { nodes { id steps(first: 1) { id } } pageInfo { endCursor } } approvals { nodes { id } pageInfo { endCursor } } }`;

const KEYS = "{ apiKeys(first: 200) { nodes { id } } }";
const NEW_KEY = 'mutation { createApiKey(input: {name: "spare", scopes: ["runs:read", "runs:start"]}) { id } }';

/** The attacker's own and the neighbour's; but the key that the cases are sent with may not be revoked by one of them. */
async function idsOf(server: TestServer, otherKey: string): Promise<Ids> {
  const ids: Record<string, string[]> = { cursor: [] };
  const own = new Set<string>((await server.data(KEYS)).apiKeys.nodes.map(({ id }: { id: string }) => id));
  for (let spare = 0; spare < 3; spare++) await server.data(NEW_KEY);
  for (const key of [server.world.apiKey, otherKey]) {
    const data = await server.data(EVERYTHING, {}, key);
    for (const [, prefix, id] of JSON.stringify(data)
      .matchAll(/"id":"(([a-z]+)_[^"]+)"/g)
      .map(([, id, kind]) => [0, kind!, id!] as const)) {
      (ids[prefix] ??= []).push(id);
    }
    for (const { pageInfo } of [data.runs, data.approvals]) ids["cursor"]!.push(pageInfo.endCursor ?? "");
  }
  ids["key"] = ids["key"]!.filter((id) => !own.has(id));
  return ids;
}

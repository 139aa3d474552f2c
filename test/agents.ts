/** Agents for tests: small, without network, in the project `test`. */
import type { TestServer } from "./client.ts";

const head = (name: string): string => `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '1.0.0'}`;

export const DEFINITIONS = {
  /** Three steps, each adding 1 to `n`. */
  three: `${head("three")}
input: {schema: {document: {type: object, properties: {n: {type: number}}, required: [n]}}}
do:
  - one: {set: {n: '\${ .n + 1 }'}}
  - two: {set: {n: '\${ .n + 1 }'}}
  - three: {set: {n: '\${ .n + 1 }'}}
`,
  /** Gives back what it is given. */
  echo: `${head("echo")}
do:
  - echo: {set: '\${ . }'}
`,
  /** Thirty steps of 100 ms. */
  slow: `${head("slow")}
do:
  - loop:
      for: {in: '\${ [range(30)] }'}
      do:
        - pause: {wait: {milliseconds: 100}}
`,
  /** Eighty commits, 10 ms apart. */
  quick: `${head("quick")}
do:
  - loop:
      for: {in: '\${ [range(80)] }'}
      do:
        - pause: {wait: {milliseconds: 10}}
`,
  /** Waits an hour. */
  patient: `${head("patient")}
do:
  - pause: {wait: {hours: 1}}
`,
  /** One question with a form, then done. */
  approve: `${head("approve")}
do:
  - ask:
      call: approval:1.0.0@default
      with:
        question: May it go on?
        context: {why: because}
        form: {type: object, properties: {costCentre: {type: string, enum: [office, travel]}}, required: [costCentre]}
  - done: {set: {said: '\${ .comment }'}}
`,
  /** Fails in its second step. */
  failing: `${head("failing")}
do:
  - fine: {set: {a: 1}}
  - broken: {raise: {error: {type: 'https://example.org/errors/broken', status: 422, title: Broken, detail: as it should}}}
`,
} as const;

export type AgentName = keyof typeof DEFINITIONS;

/** Publishes it into the world's project, or into another's with its key; answers its id. */
export async function publish(
  server: Pick<TestServer, "data" | "world">,
  name: AgentName,
  { projectId, apiKey }: { projectId: string; apiKey: string } = server.world,
): Promise<string> {
  const input = { projectId, definition: DEFINITIONS[name] };
  const { publishAgent } = await server.data(
    "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input },
    apiKey,
  );
  return publishAgent.id;
}

/** Starts a run; answers its id. */
export async function start(
  server: Pick<TestServer, "data">,
  agentId: string,
  input: object = {},
  token?: string,
): Promise<string> {
  const { runAgent } = await server.data(
    "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }",
    { input: { agentId, input } },
    token,
  );
  return runAgent.id;
}

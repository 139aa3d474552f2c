/** Runs that do costly things: random expressions on large inputs in every task that takes them. */
import http from "node:http";
import { randomFrom, type Random } from "../faults/random.ts";
import { largeInput, randomExpression } from "./expressions.ts";
import { jsonHeaders, send, type Received } from "./send.ts";
import type { Kind, Result } from "./trial.ts";
import type { HostileWorld } from "./world.ts";
import { randomText } from "./definitions.ts";

const agent = new http.Agent({ keepAlive: true });

/** As a caller who may do all that its organization allows. */
export const ask = ({ server, token }: HostileWorld, query: string, variables: unknown): Promise<Received> =>
  send(
    { url: server.url, agent },
    { headers: jsonHeaders(token("owner")), body: JSON.stringify({ query, variables }) },
  );

const PUBLISH = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const RUN =
  "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status error { type status title detail } } }";
const CANCEL = "mutation($id: ID!) { cancelRun(runId: $id) { status } }";

const quoted = (expression: string): string => `'\${ ${expression.replaceAll("'", "''")} }'`;

/** One task that uses an expression; what it fails with is caught, so that the next one is reached. */
function task(random: Random, name: string): string {
  const expression = quoted(randomExpression(random));
  const body = random.pick([
    () => `set: ${expression}`,
    () => `set: {a: ${expression}, b: ${quoted(randomExpression(random))}}`,
    () => `if: ${expression}, set: {a: 1}`,
    () => `switch: [{one: {when: ${expression}, then: continue}}]`,
    () => `input: {from: ${expression}}, set: {a: 1}, output: {as: ${quoted(randomExpression(random))}}`,
    () => `set: '\${ . }', export: {as: ${expression}}`,
    () => `for: {in: ${expression}}, while: '\${ $index < 20 }', do: [{in${name}: {set: '\${ $item }'}}]`,
    () => `for: {in: '\${ [range(${random.pick([10, 1_000])})] }'}, do: [{in${name}: {set: '\${ $input }'}}]`,
    () =>
      `call: 'each:1.0.0@default', with: {in: ${expression}, concurrency: ${random.pick([1, 10, 100])}, onError: collect, do: [{in${name}: {set: '\${ $item }'}}]}`,
    () => `raise: {error: {type: 'https://example.org/x', status: 500, detail: ${expression}}}`,
    () => `call: http, with: {method: post, endpoint: 'http://127.0.0.1:9/{s}', body: ${expression}}`,
    () => `call: http, with: {method: post, endpoint: ${expression}, headers: ${quoted(randomExpression(random))}}`,
    () => `wait: ${expression}`,
  ])();
  return `  - try${name}: {try: [{${name}: {${body}}}], catch: {do: [{after${name}: {set: '\${ $input }'}}]}, output: {as: '\${ $input }'}}\n`;
}

const SURE = { timeout: "timeout: {after: PT3S}\n" };

export const expressions: Kind = {
  name: "expression",
  limit: "stretch",
  make(seed) {
    const random = randomFrom(seed);
    const body = `${SURE.timeout}do:\n${Array.from({ length: random.between(1, 3) }, (_, n) => task(random, `t${n}`)).join("")}`;
    const input = largeInput(random);
    const definition = `document: {dsl: '1.0.3', namespace: test, name: expressions, version: '1.0.${seed % 1e9}'}\n${body}`;
    return {
      about: `${body} on ${JSON.stringify(input).length} bytes: ${Object.keys(input).join()}`,
      run: (world) => publishAndRun(world, definition, input),
    };
  },
};

export const definitionRuns: Kind = {
  name: "definition-run",
  limit: "stretch",
  make(seed) {
    const text = randomText(randomFrom(seed)).replace(/version: '1\.\d+\.\d+'/, `version: '2.0.${seed % 1e9}'`);
    return { about: text, run: (world) => publishAndRun(world, text, { a: "\ud800", s: "x" }) };
  },
};

async function publishAndRun(world: HostileWorld, definition: string, input: object): Promise<Result> {
  const projectId = world.server.world.projectId;
  const published = await ask(world, PUBLISH, { input: { projectId, definition } });
  const id = /"id":"(agent_\w+)"/.exec(published.text)?.[1];
  if (id === undefined) return { answers: [published] };
  const ran = await ask(world, RUN, { input: { agentId: id, input, wait: 4 } });
  const runId = /"id":"(run_\w+)"/.exec(ran.text)?.[1];
  if (runId === undefined) return { answers: [published, ran] };
  // It may wait for a person, or go on for ever.
  const cancelled = await ask(world, CANCEL, { id: runId });
  return { answers: [published, ran, cancelled] };
}

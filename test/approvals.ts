/** Approvals that people decide, over the wire: ask, decide, pass on, look. */
import { agentOf, until } from "./runs.ts";
import type { Answer, Data, TestServer } from "./client.ts";

type Server = Pick<TestServer, "data" | "graphql" | "world">;

const SHOWN = `id status assignees quorum canDecide comment answer dueAt escalatedAt remindedAt createdAt decidedAt expiresAt decidedBy { kind name }
  decisions { by { kind id name } decision comment at isOverride }
  reassignments { by { kind id name } at from to comment isOverride }`;
const DECIDE = `mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { ${SHOWN} } }`;
const REASSIGN = `mutation ($input: ReassignApprovalInput!) { reassignApproval(input: $input) { ${SHOWN} } }`;
const RUN = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";

/** A definition that asks once. */
export const asking = (rest: object, question = "May it?"): string =>
  `do: [{ask: ${JSON.stringify({ call: "approval:1.0.0@default", with: { question, ...rest } })}}]`;

export type Asked = { run: string; id: string };

/** The approval that a run waits for. */
export const openOf = async (server: Server, run: string): Promise<string> =>
  (await until(server, run, "paused")).approvals.nodes[0].id;

/** `by`: who starts it; otherwise the test's key. */
export async function ask(server: Server, rest: object, by?: string): Promise<Asked> {
  const agentId = await agentOf(server, asking(rest));
  const { runAgent } = await server.data(RUN, { input: { agentId, input: {} } }, by);
  return { run: runAgent.id, id: await openOf(server, runAgent.id) };
}

export const decideAs = (
  server: Server,
  token: string,
  approvalId: string,
  decision: string,
  more: object = {},
): Promise<Answer> => server.graphql(DECIDE, { input: { approvalId, decision, ...more } }, token);

export const reassignAs = (
  server: Server,
  token: string,
  approvalId: string,
  assignees: string[],
  comment?: string,
): Promise<Answer> => server.graphql(REASSIGN, { input: { approvalId, assignees, comment } }, token);

export const showApproval = async (server: Server, id: string, token?: string): Promise<Data> =>
  (await server.data(`query ($id: ID!) { approval(id: $id) { ${SHOWN} } }`, { id }, token)).approval;

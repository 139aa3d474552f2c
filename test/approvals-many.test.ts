/** Approvals that are decided together: each by the rule of one alone, with a result of its own. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, decideAs, openOf, showApproval } from "./approvals.ts";
import { publish, start } from "./agents.ts";
import type { Answer, Data } from "./client.ts";
import { join, refusalOf, type Member } from "./people.ts";
import { ENDED, readRun, until } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let anna: Member, bob: Member;
beforeAll(async () => {
  server = await sharedServer();
  anna = await join(server, "editor", "Anna");
  bob = await join(server, "runner", "bob");
});
afterAll(() => server[Symbol.asyncDispose]());

const DECIDE = `mutation ($input: DecideApprovalsInput!) { decideApprovals(input: $input) { results {
  approvalId approval { id status comment decisions { by { id } isOverride } run { status } }
  error { code reason message fields { path code } } } } }`;
const decide = (token: string, approvalIds: string[], decision: string, more: object = {}): Promise<Answer> =>
  server.graphql(DECIDE, { input: { approvalIds, decision, ...more } }, token);
const resultsOf = async (answer: Promise<Answer>): Promise<Data[]> => {
  const { data, errors } = await answer;
  expect(errors).toBeUndefined();
  return data.decideApprovals.results;
};
/** `CODE reason`, or the status. */
const outcomes = (results: Data[]): string[] =>
  results.map(({ approval, error }) => approval?.status ?? `${error.code} ${error.reason}`);

test("each is decided as by itself, in the order given; what is refused of one changes nothing about the others", async () => {
  const free = await ask(server, {});
  const own = await ask(server, { assignees: [anna.email] });
  const foreign = await ask(server, { assignees: [bob.email] });
  const quorum = await ask(server, { quorum: 2 });
  const excluded = await ask(server, { excludeStarter: true }, anna.token);
  const decided = await ask(server, {});
  await decideAs(server, bob.token, decided.id, "reject");
  const withForm = { run: await start(server, await publish(server, "approve")), id: "" };
  withForm.id = await openOf(server, withForm.run);
  const all = [free, own, foreign, quorum, excluded, decided, withForm].map(({ id }) => id);
  const results = await resultsOf(decide(anna.token, all, "approve", { comment: "all fine" }));
  expect(results.map(({ approvalId }) => approvalId)).toEqual(all);
  expect(outcomes(results)).toEqual([
    "approved",
    "approved",
    "FORBIDDEN not_assigned",
    "open",
    "FORBIDDEN not_assigned",
    "CONFLICT already_decided",
    "BAD_USER_INPUT invalid_input",
  ]);
  expect(results[0]).toMatchObject({
    approval: { comment: "all fine", decisions: [{ by: { id: anna.userId }, isOverride: false }] },
    error: null,
  });
  expect(results[0]!["approval"]["run"]["status"]).not.toBe("paused");
  expect(results[6]).toMatchObject({
    approval: null,
    error: {
      message: expect.stringContaining("form"),
      fields: [{ path: "input.answer.costCentre", code: "required" }],
    },
  });
  for (const { run } of [free, own]) expect((await until(server, run, ...ENDED)).status).toBe("completed");
  for (const { run } of [foreign, quorum, excluded, withForm])
    expect((await readRun(server, run)).status).toBe("paused");
  const again = await resultsOf(decide(anna.token, all, "approve", { comment: "all fine" }));
  expect(outcomes(again)).toEqual(outcomes(results));
  expect((await showApproval(server, quorum.id)).decisions).toHaveLength(1);
  expect(outcomes(await resultsOf(decide(anna.token, [free.id, own.id], "reject")))).toEqual([
    "CONFLICT already_decided",
    "CONFLICT already_decided",
  ]);
});

test("one that is given twice is decided once", async () => {
  const { id } = await ask(server, { quorum: 2 });
  const results = await resultsOf(decide(anna.token, [id, id, id], "approve"));
  expect(outcomes(results)).toEqual(["open"]);
  expect((await showApproval(server, id)).decisions).toHaveLength(1);
});

test("one of another organization, one that a narrowed key does not reach and one that is none are not found", async () => {
  const other = await server.organization("elsewhere");
  const run = await start(server, await publish(server, "approve", other), {}, other.apiKey);
  const list = "query ($id: ID!) { run(id: $id) { approvals { nodes { id status } } } }";
  let foreign = "";
  await expect
    .poll(async () => (foreign = (await server.data(list, { id: run }, other.apiKey)).run.approvals.nodes[0]?.id ?? ""))
    .not.toBe("");
  const { id } = await ask(server, {});
  const hidden = await ask(server, {});
  const { run: seen } = await server.data("query ($id: ID!) { run(id: $id) { agent { id } } }", {
    id: (await server.data("query ($id: ID!) { approval(id: $id) { run { id } } }", { id })).approval.run.id,
  });
  const create = "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret } }";
  const scopes = ["approvals:decide", "runs:read"];
  const { createApiKey: key } = await server.data(create, {
    input: { name: "few", scopes, agentIds: [seen.agent.id] },
  });
  const results = await resultsOf(decide(key.secret, [foreign, hidden.id, "nonsense", id], "approve"));
  expect(outcomes(results)).toEqual(["NOT_FOUND null", "NOT_FOUND null", "NOT_FOUND null", "approved"]);
  expect(new Set(results.slice(0, 3).map(({ error }) => error.message)).size).toBe(1);
  expect((await showApproval(server, hidden.id)).status).toBe("open");
  expect((await server.data(list, { id: run }, other.apiKey)).run.approvals.nodes[0].status).toBe("open");
});

test("a list has at most 100 approvals, and may be empty", async () => {
  const none = Array.from({ length: 100 }, (_, at) => `approval_${at}`);
  expect(await resultsOf(decide(anna.token, none, "approve"))).toHaveLength(100);
  expect(refusalOf(await decide(anna.token, [...none, "approval_100"], "approve"))).toMatch(/^BAD_USER_INPUT/);
  expect(await resultsOf(decide(anna.token, [], "approve"))).toEqual([]);
  const { id } = await ask(server, {});
  const long = await decide(anna.token, [id], "approve", { comment: "a\u0000" });
  expect(long.errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path: "input.comment" }] });
  expect((await showApproval(server, id)).status).toBe("open");
});

test("two who decide the same lists in opposite orders: each approval once, and nobody waits for ever", async () => {
  const asked = await Promise.all(Array.from({ length: 8 }, () => ask(server, { onReject: "continue" })));
  const ids = asked.map(({ id }) => id);
  const [approved, rejected] = await Promise.all([
    resultsOf(decide(anna.token, ids, "approve")),
    resultsOf(decide(bob.token, ids.toReversed(), "reject")),
  ]);
  const won = [...outcomes(approved), ...outcomes(rejected)].filter((one) => !one.startsWith("CONFLICT"));
  expect(won).toHaveLength(ids.length);
  for (const { run, id } of asked) {
    const { status, decisions } = await showApproval(server, id);
    expect(decisions).toHaveLength(1);
    expect((await until(server, run, ...ENDED)).output.approved).toBe(status === "approved");
  }
});

/** The automations of examples/automations, each as its first lines say, against the services beside them and a model on loopback. */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KEYS, startServices, type Services } from "../examples/automations/loopback.ts";
import { startProcess } from "./cli-process.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { connectModel, createDemo } from "./example-agents.ts";
import { startLlmService, toolCall, type LlmService } from "./llm-service.ts";
import { join, login, refusalOf, type Member } from "./people.ts";
import { DECIDE, ENDED, ran, readRun, until } from "./runs.ts";
import { call } from "./webhooks.ts";

const FOLDER = path.join(import.meta.dirname, "../examples/automations");
const SIGNATURE_KEY = "a-key-that-github-knows-too";

let server: TestServer;
let services: Services;
let model: LlmService;
let projectId: string;
const agents: Record<string, string> = {};

const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const SET = "mutation ($input: SetSecretInput!) { setSecret(input: $input) { id } }";

async function publish(name: string): Promise<void> {
  const text = readFileSync(path.join(FOLDER, `${name}.yaml`), "utf8");
  const definition = text.replaceAll("http://127.0.0.1:4500", services.url);
  agents[name] = (await server.data(PUBLISH, { input: { projectId, definition } })).publishAgent.id;
}

beforeAll(async () => {
  [services, model] = [await startServices(), await startLlmService()];
  server = await startTestServer({
    env: { OUTBOUND_ALLOW: "127.0.0.1/32", SMTP_URL: services.smtpUrl, MAIL_FROM: "Autograph <agents@example.org>" },
  });
  projectId = await createDemo(server);
  const secrets = { ...KEYS, githubSignature: SIGNATURE_KEY };
  for (const [name, value] of Object.entries(secrets)) await server.data(SET, { input: { projectId, name, value } });
});
afterAll(async () => {
  for (const one of [server, services, model]) await one[Symbol.asyncDispose]();
});
beforeEach(() => {
  services.seen.length = services.mails.length = services.state.said.length = model.asked.length = 0;
});

const run = (name: string, input: object): Promise<Data> => ran(server, agents[name]!, input);

async function begin(name: string, input: object, token?: string): Promise<string> {
  const mutation = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  return (await server.data(mutation, { input: { agentId: agents[name], input } }, token)).runAgent.id;
}

const triggerOf = async (name: string): Promise<Data> =>
  (
    await server.data("query ($id: ID!) { agent(id: $id) { triggers { nodes { id url nextDueAt } } } }", {
      id: agents[name],
    })
  ).agent.triggers.nodes[0];

/** Moves the clock to the trigger's next instant; answers the run that it started. */
async function whenDue(name: string): Promise<string> {
  const { id, nextDueAt } = await triggerOf(name);
  await server.clock.advance(new Date(nextDueAt).getTime() - (await server.clock.now()));
  const firings = "query ($id: ID!) { trigger(id: $id) { firings(first: 1) { nodes { run { id } } } } }";
  return eventually(async () => (await server.data(firings, { id })).trigger.firings.nodes[0]?.run?.id as string);
}

/** The run once it has ended: whenever it waits for a time, the clock moves to that. */
const ended = (id: string): Promise<Data> =>
  eventually(async () => {
    const { run: one } = await server.data("query ($id: ID!) { run(id: $id) { status waitingFor { until } } }", { id });
    if (ENDED.includes(one.status)) return readRun(server, id);
    const times: number[] = one.waitingFor.map(({ until: time }: Data) => Date.parse(time));
    const leftMs = Math.min(...times) - (await server.clock.now());
    if (times.length > 0 && leftMs > 0) await server.clock.advance(leftMs);
    return undefined;
  });

/** No key of a service stands in what anybody can read of a run. */
async function expectNoKeys(runId: string): Promise<void> {
  const fields = "input output error { detail } steps { input output error { detail } attempts { error { detail } } }";
  const shown = JSON.stringify(await server.data(`query ($id: ID!) { run(id: $id) { ${fields} } }`, { id: runId }));
  for (const key of Object.values(KEYS)) expect(shown).not.toContain(key);
}

describe("weekly-report", () => {
  beforeAll(() => publish("weekly-report"));

  test("mails the sums with a table", async () => {
    const recipients = ["ada@example.com", "grace@example.com"];
    const { id, status, output } = await run("weekly-report", { from: "2026-11-16", to: "2026-11-22", recipients });
    expect({ status, output }).toEqual({ status: "completed", output: { sentTo: recipients, refused: [] } });
    const [mail] = services.mails;
    expect(mail).toContain("Subject: Orders from 2026-11-16 to 2026-11-22");
    expect(mail).toContain("3 orders, 69.9 EUR");
    const [, table = ""] = /filename=orders\.csv\r\n\r\n([^-]+)/.exec(mail!)!;
    expect(Buffer.from(table, "base64").toString().split("\n").slice(0, 2)).toEqual([
      '"id","day","country","EUR"',
      '1,"2026-11-16","DE",42',
    ]);
    await expectNoKeys(id);
  });

  test("runs by itself on Mondays, with the week before", async () => {
    const id = await whenDue("weekly-report");
    const { status, input } = await until(server, id, ...ENDED);
    expect(status).toBe("completed");
    expect(new Date(input.from).getUTCDay()).toBe(1);
    expect(services.seen[0]!.query.get("to")).toBe(input.to);
    expect(services.mails[0]).toContain("To: ada@example.com");
  });
});

describe("triage", () => {
  const MESSAGE = { from: "kim@example.org", text: "The shop is down." };
  beforeAll(() => publish("triage"));

  test("without a model the message goes to the desk", async () => {
    expect(await run("triage", MESSAGE)).toMatchObject({
      status: "completed",
      output: { queue: "desk", ticket: 1, why: expect.stringContaining("LLM_BASE_URL") },
    });
  });

  test("sorts what its webhook is sent, and opens a ticket with the tracker's key", async () => {
    await connectModel(server, projectId, model.url);
    model.replies = [{ category: "fault", summary: "The shop is down" }];
    const { url } = await triggerOf("triage");
    const { status, body } = await call(`${url}?wait=30`, { ...MESSAGE, page: "/contact" });
    expect({ status, output: body["output"] }).toEqual({
      status: 200,
      output: { ticket: 2, queue: "engineering", summary: "The shop is down", why: null },
    });
    const [ticket] = services.seen;
    expect(ticket!.headers).toMatchObject({ "x-api-key": KEYS.trackerKey, "idempotency-key": expect.any(String) });
    expect(ticket!.body).toEqual({
      title: "The shop is down",
      queue: "engineering",
      priority: "high",
      text: "From kim@example.org\n\nThe shop is down.",
    });
    await expectNoKeys(body["runId"]);
  });
});

describe("research", () => {
  const ANSWER = { answer: "Within 30 days.", sources: ["returns"] };
  beforeAll(() => publish("research"));

  test("searches, reads and answers", async () => {
    model.replies = [toolCall("search", { words: "sent back" }), toolCall("readPage", { id: "returns" }), ANSWER];
    const { id, status, output } = await run("research", { question: "How long may goods be sent back?" });
    expect({ status, output }).toEqual({ status: "completed", output: ANSWER });
    expect(services.seen.map(({ path: asked }) => asked)).toEqual(["/library/search", "/library/pages/returns"]);
    expect(model.asked.at(-1)!.body.messages.at(-1).content).toContain("within 30 days");
    await expectNoKeys(id);
  });

  test("a model that never ends is asked once more at its limit, without tools", async () => {
    let searches = 0;
    model.think = ({ body }) => (body.tools?.length ? toolCall("search", { words: `returns ${++searches}` }) : ANSWER);
    const { status, output } = await run("research", { question: "What else?" });
    model.think = undefined;
    expect({ status, output, searches }).toEqual({ status: "completed", output: ANSWER, searches: 6 });
    expect(model.asked).toHaveLength(7);
  });
});

test("enrichment finds, misses, and waits for a register that is busy", async () => {
  await publish("enrichment");
  const domains = ["acme.example", "nobody.example", "busy-globex.example"];
  const id = await begin("enrichment", { domains });
  // The register answers with Retry-After.
  const done = await ended(id);
  expect(done.output).toEqual({
    found: [
      { domain: "acme.example", name: "Acme", country: "DE", employees: 120 },
      { domain: "busy-globex.example", name: "Globex", country: "US", employees: 4000 },
    ],
    missing: ["nobody.example"],
    failed: [],
  });
  const asked = services.seen.filter(({ path: one }) => one.includes("/companies/"));
  expect(asked).toHaveLength(4);
  expect(asked[0]!.query.get("fields")).toBe("name,country,employees");
  expect(services.seen.filter(({ path: one }) => one.endsWith("openapi.json"))).toHaveLength(1);
  await expectNoKeys(id);
});

describe("deploy", () => {
  beforeAll(() => publish("deploy"));

  async function release(tag: string, more: object = {}, key = SIGNATURE_KEY): Promise<Data> {
    const sent = { action: "published", repository: { name: "shop" }, release: { tag_name: tag }, ...more };
    const body = JSON.stringify(sent);
    const signature = createHmac("sha256", key).update(body).digest("hex");
    const { url } = await triggerOf("deploy");
    return call(url, body, { headers: { "x-hub-signature-256": `sha256=${signature}` } });
  }

  test("deploys a signed release and tells the chat", async () => {
    const { status, body } = await release("1.5.0");
    expect(status).toBe(202);
    expect(await until(server, body.runId, ...ENDED)).toMatchObject({
      status: "completed",
      output: { service: "shop", version: "1.5.0", former: "1.4.0" },
    });
    expect(services.state.running["shop"]).toBe("1.5.0");
    expect(services.state.said).toEqual(["shop 1.5.0 is deployed"]);
    await expectNoKeys(body.runId);
  });

  test("puts the version before back if the new one is not healthy", async () => {
    const { body } = await release("1.6.0-broken");
    const asked = (): number => services.seen.filter(({ path: one }) => one.endsWith("/health")).length;
    const failed = await ended(body.runId);
    expect(failed.error).toMatchObject({
      title: "Rolled back",
      detail: "1.5.0 runs again: The service is not healthy",
    });
    expect(asked()).toBe(4);
    expect(services.state.running["shop"]).toBe("1.5.0");
    expect(services.state.said).toEqual(["shop 1.6.0-broken failed (The service is not healthy); 1.5.0 runs again"]);
    await expectNoKeys(body.runId);
  });

  test("a call that is not signed starts nothing, and neither does another event", async () => {
    expect((await release("1.7.0", {}, "another key")).status).toBe(403);
    expect((await release("1.7.0", { action: "edited" })).body).toMatchObject({ status: "skipped" });
    expect(services.state.running["shop"]).toBe("1.5.0");
  });
});

describe("nightly-import", () => {
  beforeAll(() => publish("nightly-import"));

  test("begins at night and asks until the job is done", async () => {
    const id = await whenDue("nightly-import");
    const done = await ended(id);
    expect(done).toMatchObject({ status: "completed", output: { job: expect.any(Number), rows: 1200 } });
    const looks = services.seen.filter(({ method }) => method === "GET");
    expect(looks).toHaveLength(3);
    expect(services.seen[0]!.body).toEqual({ export: "orders", day: done["input"].day });
    await expectNoKeys(id);
  });

  test("fails with what the service says about a job that failed", async () => {
    const failed = await ended(await begin("nightly-import", { day: "1999-12-31" }));
    expect(failed).toMatchObject({
      status: "failed",
      error: { title: "The job failed", detail: expect.stringContaining("no such day") },
    });
  });
});

describe("payment", () => {
  let starter: Member, lead: Member, anna: Member, bob: Member, owner: string;
  beforeAll(async () => {
    await publish("payment");
    starter = await join(server, "editor", "Sam");
    lead = await join(server, "runner", "Lea");
    anna = await join(server, "editor", "Anna");
    bob = await join(server, "editor", "Bob");
    owner = await login(server, server.world);
  });

  /** The run's open question, which is another than `former`. */
  const openOf = (id: string, former = ""): Promise<string> =>
    eventually(async () => {
      const { status, approvals } = await readRun(server, id);
      const open: Data = approvals.nodes.find((one: Data) => one["status"] === "open" && one["id"] !== former);
      return status === "paused" ? (open?.id as string | undefined) : undefined;
    });
  const decide = (token: string, approvalId: string, decision = "approve", more: object = {}) =>
    server.graphql(DECIDE, { input: { approvalId, decision, ...more } }, token);

  test("a large one asks the lead, and then two of finance, who are not the one that asks", async () => {
    const id = await begin("payment", { payee: "Acme", amount: 12_000, lead: lead.email }, starter.token);
    const first = await openOf(id);
    for (const token of [starter.token, anna.token])
      expect(refusalOf(await decide(token, first))).toContain("FORBIDDEN");
    expect((await decide(lead.token, first, "approve", { comment: "as agreed" })).errors).toBeUndefined();
    const second = await openOf(id, first);
    for (const token of [starter.token, lead.token])
      expect(refusalOf(await decide(token, second))).toContain("FORBIDDEN");
    const answer = { costCentre: "goods" };
    expect((await decide(anna.token, second, "approve", { answer })).data.decideApproval.status).toBe("open");
    expect((await decide(bob.token, second, "approve", { answer })).data.decideApproval.status).toBe("approved");
    expect((await until(server, id, ...ENDED)).output).toEqual({ paid: true, amount: 12_000, costCentre: "goods" });
  });

  test("a small one asks the lead alone, and a rejection says who and why", async () => {
    const small = await begin("payment", { payee: "Acme", amount: 20, lead: lead.email }, starter.token);
    await decide(lead.token, await openOf(small));
    expect((await until(server, small, ...ENDED)).output).toMatchObject({ paid: true, amount: 20 });
    const rejected = await begin("payment", { payee: "Acme", amount: 20, lead: lead.email }, starter.token);
    await decide(owner, await openOf(rejected), "reject", { comment: "twice" });
    expect((await until(server, rejected, ...ENDED)).output).toEqual({
      paid: false,
      by: expect.stringMatching(/^user_/),
      why: "twice",
    });
  });
});

describe("web-backend.ts", () => {
  const ORDER = { customer: "Ada", speed: "rush", deliverBy: "2026-12-01" };

  test("starts a run once for an order, shows it live, and answers with its output", async () => {
    const definition = readFileSync(path.join(FOLDER, "../agents/order-intake.yaml"), "utf8");
    const { id: agentId } = (await server.data(PUBLISH, { input: { projectId, definition } })).publishAgent;
    const scopes = ["agents:read", "runs:read", "runs:start"];
    const { createApiKey } = await server.data(
      "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret } }",
      { input: { name: "backend", scopes, agentIds: [agentId] } },
    );
    const env = { AUTOGRAPH_URL: server.url, AUTOGRAPH_API_KEY: createApiKey.secret };
    const backend = startProcess([], { file: path.join(FOLDER, "web-backend.ts"), env });
    try {
      const url = await eventually(() => /^http:\S+/.exec(backend.stdout)?.[0]);
      const order = (number: number, body: object): Promise<Response> =>
        fetch(`${url}/orders/${number}`, { method: "POST", body: JSON.stringify(body) });

      const started = await order(4711, ORDER);
      expect(started.status).toBe(202);
      const { id }: Data = await started.json();
      const again: Data = await (await order(4711, ORDER)).json();
      expect(again["id"]).toBe(id);

      // The stream ends when the run does.
      const events = await (await fetch(`${url}/runs/${id}/events`)).text();
      expect(events).toContain('"name":"byCourier","status":"completed"');
      expect(events.trim().split("\n\n").at(-1)).toMatch(
        /^event: run\ndata: .*"status":"completed".*"carrier":"courier"/,
      );
      const run: Data = await (await fetch(`${url}/runs/${id}`)).json();
      expect(run).toMatchObject({ status: "completed", progress: 100, output: { carrier: "courier" } });

      const wrong = await order(4712, { customer: "Ada" });
      expect({ status: wrong.status, body: await wrong.json() }).toMatchObject({
        status: 400,
        body: {
          code: "BAD_USER_INPUT",
          fields: expect.arrayContaining([expect.objectContaining({ path: "speed" })]),
        },
      });
      // The key reaches this one agent.
      const other = await begin("payment", { payee: "Acme", amount: 1, lead: "lead@example.org" });
      expect((await fetch(`${url}/runs/${other}`)).status).toBe(404);
    } finally {
      backend.kill("SIGTERM");
      await backend.ended;
    }
  });
});

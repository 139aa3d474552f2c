/** `runs`, `approvals`, `agents`, `projects`, `org list`, `members` and `invitations`, as processes against one server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beside, cli, cliJson, settingsOf } from "./command-line.ts";
import { eventually } from "./client.ts";
import { ENDED, until } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const NAME = `an-agent-with-${"a-long-".repeat(6)}`.padEnd(63, "x");
const head = (name: string): string => `document: { dsl: 1.0.3, namespace: test, name: ${name}, version: 1.0.0 }\n`;
const DEFINITIONS = [
  `${head("asks")}do: [ { ask: { call: "approval:1.0.0@default", with: {
    question: "Pay \\e[31m180 euros for the train to Lyon, which is a question longer than a line?",
    context: { amount: 180 },
    form: { type: object, required: [cost], properties: { cost: { type: string, title: Cost centre }, twice: { type: boolean }, pay: { type: string, title: When, enum: [now, later], default: now } } } },
    output: { as: "\${ .answer }" } } } ]`,
  `${head("fails")}do: [ { first: { set: { n: 1 } } }, { break: { raise: { error: { type: "https://serverlessworkflow.io/spec/1.0.0/errors/runtime", status: 500, detail: "It broke." } } } } ]`,
  `${head(NAME)}do: [ { wait: { wait: { minutes: 10 } } } ]`,
  `${head("asks-how")}input: { schema: { document: { type: object, properties: {
    speed: { type: string, title: How fast, enum: [rush, normal] }, pieces: { type: integer, default: 1 } } } } }
do: [ { echo: { set: { got: "\${ . }" } } } ]`,
  `${head("hears")}do: [ { hear: { listen: { to: { any: [ { with: { type: go } } ], until: "length == 2" } } } } ]`,
  `${head("echoes")}do: [ { echo: { set: { got: "\${ . }" } } } ]`,
];
const START = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status } }";

let server: SharedServer;
let agents: Record<string, string>;
const autograph = (...args: string[]) => cli(args, { env: beside(server) });
const json = (...args: string[]) => cliJson<any>(args, { env: beside(server) });
async function publish(definition: string): Promise<void> {
  const mutation = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id handle } }";
  const { publishAgent } = await server.data(mutation, { definition });
  agents[publishAgent.handle] = publishAgent.id;
}
/** Once it has ended or asks. */
async function start(handle: string, input: object = {}): Promise<string> {
  const { runAgent } = await server.data(START, { input: { agentId: agents[handle], input, wait: 30 } });
  await until(server, runAgent.id, ...ENDED, "paused");
  return runAgent.id;
}
const refused = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await autograph(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^autograph: (?!Variable).+\n$/);
  return stderr;
};
/** Fits a terminal, and has each id whole. */
const isTable = (stdout: string, ...ids: string[]): void => {
  expect(stdout.split("\n").filter((text) => text.length > 80)).toEqual([]);
  expect(ids.filter((id) => !new RegExp(`(^| )${id}( |$)`, "m").test(stdout))).toEqual([]);
};

beforeAll(async () => {
  server = await sharedServer();
  agents = {};
  for (const definition of DEFINITIONS) await publish(definition);
});
afterAll(() => server[Symbol.asyncDispose]());

describe("runs", () => {
  test("are listed, by agent and status", async () => {
    const failed = await start("fails");
    const open = (await json("run", NAME)).id;
    const { stdout } = await autograph("runs", "list");
    expect(stdout).toMatch(/^id +status +created +agent\n/);
    isTable(stdout, failed, open);
    expect((await json("runs", "list", "--agent", "fails", "--first", "1")).map((run: any) => run.id)).toEqual([
      failed,
    ]);
    const both = await json("runs", "list", "--status", "running", "pending");
    expect(both.map((run: any) => run.id)).toContain(open);
    expect(both.map((run: any) => run.id)).not.toContain(failed);
    const one = await autograph("runs", "list", "--first", "1");
    expect(one).toMatchObject({ code: 0, stderr: "only the newest 1 are shown: --first shows up to 200\n" });
    const none = await autograph("runs", "list", "--status", "cancelled");
    expect(none).toEqual({ code: 0, stdout: "", stderr: "there are no such runs\n" });
  });

  test("show their steps, and what they ask with the command that answers", async () => {
    const id = await start("asks");
    const { code, stdout, stderr } = await autograph("runs", "show", id);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(`^${id} of asks 1\\.0\\.0\n[\\d-]+ [\\d:]+ by test\n {2}1 {2}ask +approval +paused\npaused\n$`),
    );
    expect(stderr).toMatch(/paused: Pay \?\[31m180 euros.+\n +autograph approvals approve approval_\w+\n$/);
    const failed = await json("runs", "show", await start("fails"));
    expect(failed).toMatchObject({ status: "failed", input: {}, steps: [{ name: "first" }, { status: "failed" }] });
    const watched = await autograph("runs", "show", failed.id, "--watch");
    expect([watched.code, watched.stdout]).toEqual([1, expect.stringContaining("It broke.")]);
    await publish(
      `${head("loops")}do: [ { loop: { for: { in: "\${ [range(1000)] }" }, do: [ { one: { set: { n: 1 } } } ] } } ]`,
    );
    const long = await autograph("runs", "show", await start("loops"));
    expect([long.code, long.stderr]).toEqual([0, "only the first 1000 of 1001 steps are shown\n"]);
  });

  test("are cancelled, once for all; what has ended can't be", async () => {
    const { id } = await json("run", NAME);
    for (const _ of [1, 2]) expect(await json("runs", "cancel", id)).toMatchObject({ id, status: "cancelled" });
    const ended = await start("fails");
    expect(await refused("runs", "cancel", ended)).toMatch(/failed/);
  });

  test("are sent signals, with data or without", async () => {
    const { id } = await json("run", "hears");
    expect(await refused("runs", "signal", id, "go", "--data", "[1]")).toContain("--data must be a JSON object");
    for (const _ of [1, 2])
      expect(await json("runs", "signal", id, "go", "--data", '{"n": 1}', "--idempotency-key", "first")).toMatchObject({
        id,
        status: "running",
      });
    await autograph("runs", "signal", id, "go");
    expect((await until(server, id, ...ENDED))["output"]).toEqual([{ n: 1 }, {}]);
    expect(await refused("runs", "signal", id, "go")).toContain("the run is already completed");
  });

  test("are retried and run again as new runs", async () => {
    const id = await start("fails");
    const retried = await autograph("runs", "retry", id, "--from-step", "2", "--watch");
    expect([retried.code, retried.stdout]).toEqual([1, expect.stringMatching(/^run_\w+ of fails 1\.0\.0\n/)]);
    expect(await json("runs", "retry", id, "--from-task", "first")).toMatchObject({ version: "1.0.0" });
    expect(await refused("runs", "retry", id, "--from-task", "frist")).toMatch(/frist/);
    const args = ["runs", "rerun", id, "--idempotency-key", "once"];
    const rerun = await json(...args);
    expect(rerun.id).not.toBe(id);
    expect((await json(...args)).id).toBe(rerun.id);
    const { id: open } = await json("run", NAME);
    expect(await refused("runs", "retry", open)).toMatch(/running|cancel it first/);
    expect(await refused("runs", "retry", id, "--from-step", "x")).toContain("--from-step must be");

    await publish(
      `${head("mended")}do: [ { only: { raise: { error: { type: "https://example.org/x", status: 500 } } } } ]`,
    );
    const broken = await start("mended");
    await publish(`${head("mended").replace("1.0.0", "2.0.0")}do: [ { only: { set: { n: 1 } } } ]`);
    expect(await json("runs", "retry", broken)).toMatchObject({ version: "1.0.0" });
    expect(await json("runs", "retry", broken, "--version", "2.0.0")).toMatchObject({ version: "2.0.0" });
  });

  test("a wrong id is one line", async () => {
    expect(await refused("runs", "show", "run_00000000000000000000000000")).toMatch(/not found/i);
    expect(await refused("runs", "cancel", agents["asks"]!)).toContain(
      "is not a run id (run_…): `autograph runs list` shows them",
    );
    expect(await refused("runs", "list", "--agent", "ask")).toContain('did you mean "asks"?');
    expect(await refused("runs", "list", "--status", "done")).toContain("Allowed choices are");
  });
});

describe("approvals", () => {
  test("are listed and shown", async () => {
    const run = await start("asks");
    const [one] = await json("approvals", "list", "--run", run);
    expect(one).toMatchObject({ id: expect.stringMatching(/^approval_/), status: "open" });
    expect(await json("approvals", "list", "--agent", "asks")).not.toEqual([]);
    expect(await json("approvals", "list", "--agent", "fails")).toEqual([]);
    const { stdout } = await autograph("approvals", "list");
    expect(stdout).toMatch(/^id +asked +question\n/);
    isTable(stdout, one.id);
    const shown = await autograph("approvals", "show", one.id);
    expect(shown.stdout).toContain("a question longer than a line?");
    expect(shown.stdout).toContain("needs cost=… (text): Cost centre\n");
    expect(shown.stdout).toContain("takes pay=… (choice): When (now, later; by default now)\n");
    expect(shown.stdout).toContain('"amount": 180');
    expect(await json("approvals", "show", one.id)).toMatchObject({ context: { amount: 180 }, answer: null });
  });

  test("are approved with an answer read as the form wants it, and rejected", async () => {
    const run = await start("asks");
    const [{ id }] = await json("approvals", "list", "--run", run);
    expect(await refused("approvals", "approve", id)).toContain("cost: is missing");
    const args = ["approvals", "approve", id, "cost=007", "twice=true", "--comment", "Have a good trip"];
    expect(await json(...args)).toMatchObject({ id, status: "approved", comment: "Have a good trip" });
    const output = await eventually(async () => (await json("runs", "show", run)).output);
    expect(output).toEqual({ cost: "007", twice: true, pay: "now" });
    expect(await refused("approvals", "reject", id)).toMatch(/approved|decided/);
    expect((await autograph("approvals", "show", id)).stdout).toMatch(/^by +test$/m);

    const [other] = await json("approvals", "list", "--run", await start("asks"));
    const rejected = await autograph("approvals", "reject", other.id);
    expect([rejected.code, rejected.stdout]).toEqual([0, expect.stringMatching(/^approval_\w+ is rejected \(Pay /)]);
    const [third] = await json("approvals", "list", "--run", await start("asks"));
    const whole = ["approvals", "approve", third.id, "--answer", '{"cost": "office"}'];
    expect(await json(...whole)).toMatchObject({ status: "approved" });
    const all = await autograph("approvals", "list", "--status", "approved", "rejected");
    isTable(all.stdout, id, other.id);
    expect(await refused("approvals", "approve", "approval_00000000000000000000000000")).toMatch(/not found/i);
    expect(await refused("approvals", "show", run)).toContain("`autograph approvals list` shows them");
  });
});

describe("agents", () => {
  test("are listed and shown", async () => {
    const { stdout } = await autograph("agents", "list", "--project", "test");
    expect(stdout).toMatch(/^id +status +version +agent\n/);
    isTable(stdout, ...Object.values(agents));
    expect(await json("agents", "list", "--project", "other")).toEqual([]);
    const shown = await autograph("agents", "show", "test/asks");
    expect(shown.stdout).toMatch(new RegExp(`^test/asks 1\\.0\\.0, active\n${agents["asks"]}\n`));
    expect(await json("agents", "show", agents["asks"]!)).toMatchObject({ handle: "asks", inputFields: [] });
    const form = (await autograph("agents", "show", "asks-how")).stdout;
    expect(form).toMatch(/^speed +choice +How fast \(rush, normal\)$/m);
    expect(form).toMatch(/^pieces +integer +pieces \(by default 1\)$/m);
  });

  test("are paused, resumed and archived", async () => {
    expect(await json("agents", "pause", "echoes")).toMatchObject({ status: "paused" });
    expect(await refused("run", "echoes")).toContain("paused");
    expect(await json("agents", "resume", "echoes")).toMatchObject({ status: "active" });
    expect(await json("agents", "archive", "echoes")).toMatchObject({ status: "archived" });
    expect(await refused("agents", "resume", "echoes")).toContain("there is no agent");
    expect((await json("agents", "list", "--status", "archived")).map(({ id }: any) => id)).toEqual([agents["echoes"]]);
    expect(await json("agents", "resume", "test/echoes")).toMatchObject({ status: "active" });
    const { stdout } = await autograph("agents", "resume", agents["echoes"]!);
    expect(stdout).toBe(`${agents["echoes"]} is active (test/echoes)\n`);
  });

  test("without a form take a=1 as text", async () => {
    const run = await json("run", "echoes", "a=1", "b=true", "c=[1]", "--wait", "10");
    expect(run.output).toEqual({ got: { a: "1", b: "true", c: "[1]" } });
  });
});

test("projects are listed and created, and then agents are published in them", async () => {
  const definition = `${head("ships").replace("namespace: test", "namespace: shipping")}do: [ { one: { set: { n: 1 } } } ]`;
  const published = () => cli(["publish", "-"], { env: beside(server), stdin: definition });
  expect((await published()).stderr).toContain("`autograph projects create shipping`");

  const created = await autograph("projects", "create", "shipping", "--name", "Ships and more");
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^project_\w+ is created \(shipping\)\n$/) });
  expect(await published()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^shipping\/ships 1\.0\.0/) });
  const other = await json("projects", "create", "billing");
  expect(other).toMatchObject({ id: expect.stringMatching(/^project_/), handle: "billing", name: "billing" });

  const { stdout } = await autograph("projects", "list");
  expect(stdout).toMatch(/^id +created +handle +name\n.+ billing +billing\n.+ shipping +Ships /);
  isTable(stdout, other.id, server.world.projectId);
  expect((await json("projects", "list")).map(({ handle }: any) => handle)).toEqual(["billing", "shipping", "test"]);
  expect(await json("projects", "list", "--first", "1")).toEqual([other]);
  expect(await refused("projects", "create", "billing")).toContain("billing");
  expect(await refused("projects", "create", "Not a handle")).toContain("handle");
});

test("org list shows the organizations of the server, and what was agreed", async () => {
  const { organizationId } = await server.organization("second");
  const ofServer = { env: settingsOf(server) };
  const { stdout: said } = await cli(
    ["org", "set-plan", organizationId, "enterprise", "--per-minute", "5000"],
    ofServer,
  );
  expect(said).toBe(`second (${organizationId}): plan enterprise, 5000 requests a minute; in force within 5 s\n`);
  expect((await cli(["org", "list"], ofServer)).stdout).toMatch(
    new RegExp(`^${organizationId} {2}enterprise 5000/min {2}[\\d-]+ [\\d:]+ {2}second$`, "m"),
  );
  await cli(["org", "set-plan", organizationId, "enterprise"], ofServer);
  const { stdout } = await cli(["org", "list"], { env: settingsOf(server) });
  expect(stdout).toMatch(/^id +plan +created +name\n/);
  isTable(stdout, organizationId, server.world.organizationId);
  const listed = await cliJson<any[]>(["org", "list", "--first", "1"], { env: settingsOf(server) });
  expect(listed).toEqual([
    expect.objectContaining({ organizationId, plan: "enterprise", createdAt: expect.any(String) }),
  ]);
});

test("usage is shown day by day", async () => {
  const today = async () => (await json("usage", "--days", "2"))[0];
  // A process writes its counts every 5 s.
  const used = await eventually(async () => ((await today()).requests > 0 ? today() : null));
  expect(used).toMatchObject({ date: expect.stringMatching(/^[\d-]{10}$/), refused: 0, runs: expect.any(Number) });
  const { stdout } = await autograph("usage", "--days", "3");
  expect(stdout).toMatch(
    /^date +requests +refused +runs +steps +model tokens +model cost\n([\d-]{10}( +\d+){5} *\n){3}$/,
  );
  expect(await refused("usage", "--days", "367")).toContain("--days must be a whole number from 1 to 366");
});

test("members are listed, invited, given a role and removed", async () => {
  const { email } = await server.member("cleo@cli.example.org", "viewer");
  const { stdout } = await autograph("members", "list");
  expect(stdout).toMatch(/^id +role +since +who\n/);
  const [cleo, owner] = await json("members", "list");
  expect([cleo.user.email, owner.role]).toEqual([email, "owner"]);
  isTable(stdout, cleo.id, owner.id);

  const invited = await autograph("members", "invite", "--role", "editor", "--email", "new@cli.example.org");
  expect(invited.stdout).toMatch(/^http:\/\/.+\/#invitation=inv_[\w-]{64}\n$/);
  expect(invited.stderr).toMatch(
    /^it works once, until .+, and is not shown again\nit was not mailed: pass it on yourself\n$/,
  );
  expect(await json("members", "invite", "--role", "viewer")).toMatchObject({ email: null, role: "viewer" });
  expect(await refused("members", "invite", "--role", "owner")).toContain("only an owner");
  expect(await refused("members", "invite", "--role", "boss")).toContain("Allowed choices");

  expect(await json("members", "set-role", email.toUpperCase(), "editor")).toMatchObject({
    id: cleo.id,
    role: "editor",
  });
  const changed = await autograph("members", "set-role", cleo.id, "runner");
  expect(changed.stdout).toBe(`${cleo.id} is runner (${email} (viewer))\n`);
  expect(await refused("members", "set-role", owner.id, "viewer")).toContain("only an owner");
  expect(await json("members", "remove", cleo.id)).toMatchObject({ id: cleo.id, role: "runner" });
  expect(await refused("members", "remove", cleo.id)).toBe("autograph: Member not found\n");
  expect(await refused("members", "remove", "cleo")).toContain("is not a member id (member_…) or an e-mail");
  expect(await refused("members", "remove", email)).toContain("is not the e-mail of a member");
});

test("invitations are listed without their links, and revoked", async () => {
  const { id, url } = await json("members", "invite", "--role", "editor", "--email", "late@cli.example.org");
  const { stdout } = await autograph("invitations", "list");
  expect(stdout).toMatch(/^id +role +until +for\n/);
  expect(stdout).toMatch(new RegExp(`^${id} +editor +[\\d-]+ [\\d:]+ +late@cli`, "m"));
  isTable(stdout, id);
  expect(JSON.stringify(await json("invitations", "list"))).not.toContain("inv_");
  const revoked = await autograph("invitations", "revoke", id);
  expect(revoked.stdout).toBe(`${id} is revoked (editor, for late@cli.example.org)\n`);
  const token = url.split("=")[1];
  const { errors } = await server.graphql("query ($token: String!) { invitation(token: $token) { role } }", { token });
  expect(errors![0]!.message).toBe("Invitation not found");
  expect((await json("invitations", "list")).map((one: any) => one.id)).not.toContain(id);
  expect(await refused("invitations", "revoke", id)).toBe("autograph: Invitation not found\n");
  expect(await refused("invitations", "revoke", "inv")).toContain("`autograph invitations list` shows them");
});

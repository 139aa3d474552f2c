/** Secrets over the wire: set, listed, used in calls to real servers on loopback, and found nowhere. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beside, cli, cliJson } from "./command-line.ts";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { leaksIn, placesOf, plantedSecret, repeated, textsIn } from "./planted-secrets.ts";
import { agentOf, ran, runOf } from "./runs.ts";
import { eventTriggerOf } from "./published-events.ts";
import { call, call as callWebhook, firingsOf, webhookOf } from "./webhooks.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
});
afterAll(() => server[Symbol.asyncDispose]());

const SECRET =
  "id name project { id handle } createdBy { kind } createdAt updatedBy { kind name } updatedAt usedBy { handle }";

const send = (value: string, name: string, token?: string) =>
  server.graphql(
    `mutation($input: SetSecretInput!) { setSecret(input: $input) { ${SECRET} } }`,
    { input: { projectId: server.world.projectId, name, value } },
    token,
  );
const setSecret = async (name: string, value: string): Promise<Data> => (await send(value, name)).data.setSecret;

describe("the API", () => {
  test("sets a secret and gives it another value; lists names, who and when", async () => {
    const made = await setSecret("first", "planted-1");
    expect(made).toMatchObject({
      id: expect.stringMatching(/^secret_[0-9a-z]{26}$/),
      name: "first",
      project: { handle: "test" },
      createdBy: { kind: "key" },
      usedBy: [],
    });
    const changed = await setSecret("first", "planted-2");
    expect(changed).toMatchObject({ id: made.id, createdAt: made.createdAt });
    expect(changed.updatedAt >= made.updatedAt).toBe(true);
    const list = `query($id: ID, $after: String) { secrets(projectId: $id, first: 1, after: $after) { nodes { ${SECRET} } pageInfo { hasNextPage endCursor } } }`;
    await setSecret("second", "planted-3");
    const { secrets } = await server.data(list, { id: server.world.projectId });
    expect(secrets).toMatchObject({ nodes: [{ name: "second" }], pageInfo: { hasNextPage: true } });
    const rest = await server.data(list, { after: secrets.pageInfo.endCursor });
    expect(rest.secrets).toEqual({ nodes: [changed], pageInfo: { hasNextPage: false, endCursor: expect.any(String) } });
    expect((await server.data(`{ node(id: "${made.id}") { ... on Secret { name } } }`)).node).toEqual({
      name: "first",
    });
  });

  test("no field of the schema has a value, and a refusal does not repeat it", async () => {
    const { __type } = await server.data('{ __type(name: "Secret") { fields { name } } }');
    expect(__type.fields.map(({ name }: Data) => name)).not.toContain("value");
    for (const [value, name, code] of [
      ["planted-4", "two words", "invalid"],
      [`planted-5${"x".repeat(8_200)}`, "large", "too_large"],
      ["", "empty", "required"],
    ] as const) {
      const { errors } = await send(value, name);
      expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT", fields: [{ code }] } }]);
      expect(JSON.stringify(errors)).not.toContain("planted");
    }
  });

  test("deletes for good", async () => {
    const { id } = await setSecret("gone", "planted-6");
    const remove = `mutation { deleteSecret(input: {secretId: "${id}"}) { id name } }`;
    expect((await server.data(remove)).deleteSecret).toEqual({ id, name: "gone" });
    expect((await server.graphql(remove)).errors).toMatchObject([{ extensions: { code: "NOT_FOUND" } }]);
  });
});

describe("the command line", () => {
  const autograph = (args: string[], stdin = "") => cli(["secrets", ...args], { env: beside(server), stdin });

  test("sets from stdin, lists, deletes and rotates the key beside the running server; publishing warns", async () => {
    const definition = `document: {dsl: '1.0.3', namespace: test, name: warned, version: '1.0.0'}
use: {secrets: [notYetSet]}
do: [{a: {set: {b: 1}}}]`;
    const [set, published, wrong] = await Promise.all([
      autograph(["set", "fromStdin", "--project", "test"], "planted-7\n"),
      cli(["publish", "-"], { env: beside(server), stdin: definition }),
      autograph(["set", "two words", "--project", "test"], "planted-8"),
    ]);
    expect(set).toMatchObject({ code: 0, stdout: expect.stringMatching(/^secret_\w+ is set \(test\/fromStdin\)\n$/) });
    expect(published).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^test\/warned 1\.0\.0, active\nagent_/),
    });
    expect(published.stderr).toMatch(/^stdin:2:17: warning: the secret "notYetSet" is not set in the project test/);
    expect(wrong).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^autograph: name must be .+\n$/),
    });
    expect(wrong.stderr).not.toContain("planted");
    const asArgument = await autograph(["set", "byArgument", "planted", "--project", "test"]);
    expect(asArgument).toMatchObject({ code: 1, stderr: expect.stringContaining("the value is read from stdin") });
    expect(asArgument.stderr).not.toContain("planted");
    const id = set.stdout.split(" ")[0]!;
    const hook = await webhookOf(server, await publish(server, "echo"));
    const rotate = "mutation($input: RotateWebhookTokenInput!) { rotateWebhookToken(input: $input) { url } }";
    const { url } = (await server.data(rotate, { input: { triggerId: hook.id, overlapMinutes: 5 } }))
      .rotateWebhookToken;
    const [listed, rotated] = await Promise.all([
      cliJson<Data>(["secrets", "list", "--project", "test"], { env: beside(server) }),
      autograph(["rotate-key"]),
    ]);
    expect(listed).toContainEqual(expect.objectContaining({ id, name: "fromStdin", usedBy: [] }));
    expect(rotated).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^encrypted again: \d+ secrets, \d+ webhook tokens, \d+ keys of model connections, \d+ refresh tokens\n$/,
      ),
    });
    // Both URLs are what they were, and lie there as the secrets do.
    expect((await server.data(`{ trigger(id: "${hook.id}") { url } }`)).trigger.url).toBe(url);
    expect((await Promise.all([hook.url, url].map((each) => call(each)))).map(({ status }) => status)).toEqual([
      202, 202,
    ]);
    const database = await connectTo(server);
    const { rows } = await database.query(
      "select sealed, (select value ->> 'id' from settings where name = 'secrets_key') as key from webhook_tokens union all select sealed, '' from secrets",
    );
    await database.end();
    const kids = rows.map(({ sealed }) => JSON.parse(Buffer.from(sealed.split(".")[0], "base64url").toString()).kid);
    expect(new Set(kids)).toEqual(new Set([rows[0].key]));
    expect(await autograph(["delete", id])).toMatchObject({ code: 0, stdout: `${id} is deleted (test/fromStdin)\n` });
  });
});

const PLANTED = Array.from({ length: 20 }, (_, index) => plantedSecret(index));

describe("in calls", () => {
  let echo: Server;
  let url: string;
  const seen: IncomingMessage[] = [];
  beforeAll(async () => {
    // Repeats what it was sent, in every way that a server may.
    echo = createServer((request, response) => {
      seen.push(request);
      const authorization = request.headers.authorization ?? "";
      const token = authorization.startsWith("Basic ")
        ? Buffer.from(authorization.slice(6), "base64").toString()
        : Buffer.from(authorization.replace(/^Bearer /, ""), "latin1").toString();
      const status = Number(/^\/status\/(\d+)/.exec(request.url!)?.[1] ?? 200);
      const again = { authorization, token, ...repeated(token) };
      if (request.url!.startsWith("/text"))
        return void response
          .writeHead(status, token.slice(0, 9).replaceAll(/[^ -~]/g, "?"))
          .end(`before ${token} after`);
      response.writeHead(status, { "content-type": "application/json", "x-again": encodeURIComponent(token) });
      response.end(JSON.stringify(again));
    }).listen(0, "127.0.0.1");
    await once(echo, "listening");
    url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    echo.closeAllConnections();
    echo.close();
  });

  /** The places of texts for people and triggers: an approval, the run's own event, a signed webhook. */
  async function askedAndFired(): Promise<Record<string, string>> {
    const call = (name: string, path: string, use: string, more = ""): string =>
      `- ${name}: {call: http, with: {method: get, endpoint: {uri: '${url}${path}', authentication: {basic: {use: ${use}}}}${more}}}`;
    const sent = seen.length;
    const asking = await agentOf(
      server,
      [
        "use: {secrets: [p12, p13, p14]}",
        "do:",
        call("json", "/echo", "p12", ", output: response"),
        call("raw", "/echo", "p13", ", output: raw"),
        call("text", "/text", "p14"),
        "- ask: {call: approval:1.0.0@default, with: {question: '${ \"Send \\(.)?\" }', context: '${ {said: .} }'}}",
      ].join("\n"),
      "asking",
    );
    const echoing = await publish(server, "echo");
    await eventTriggerOf(server, echoing, { source: "autograph", event: "run.completed" });
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: asking },
    });
    const approvals = `{ approvals(filter: {runId: "${runAgent.id}"}) { nodes { id question context } } }`;
    const asked = await eventually(async () => {
      const found = await server.data(approvals);
      return found.approvals.nodes.length > 0 ? found : undefined;
    });
    expect(asked.approvals.nodes[0].question).toContain("[redacted]");
    await server.data("mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }", {
      input: { approvalId: asked.approvals.nodes[0].id, decision: "approve" },
    });
    const passwords = seen
      .slice(sent)
      .map(({ headers }) => Buffer.from(headers.authorization!.slice(6), "base64").toString());
    expect(passwords).toEqual([12, 13, 14].map((index) => `robot:${PLANTED[index]}`));

    const hook = await webhookOf(server, echoing, {
      name: "signed",
      policy: { signature: { preset: "github", secret: "p19" } },
    });
    const signature = createHmac("sha256", PLANTED[19]!).update("{}").digest("hex");
    const signed = { "x-hub-signature-256": `sha256=${signature}` };
    const answers = [
      await callWebhook(hook.url, {}, { headers: signed }),
      await callWebhook(hook.url, { a: 1 }, { headers: signed }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, 403]);
    // Each of these two runs leads to ten more, which may have ended by the first look.
    const events =
      '{ events(filter: {source: ["autograph"]}, first: 50) { nodes { event data firings { nodes { outcome payload run { input output } } } } } }';
    const told = await eventually(async () => {
      const found = await server.data(events);
      return found.events.nodes.some(({ data }: Data) => data.runId === runAgent.id) ? found : undefined;
    });
    return {
      approvals: JSON.stringify(asked),
      "events and their firings": JSON.stringify(told),
      "firings of a webhook": JSON.stringify([answers.map(({ body }) => body), await firingsOf(server, hook)]),
    };
  }

  test("20 planted secrets come back from nowhere: steps, errors, attempts, events, log, metrics, dump, files", async () => {
    for (const [index, value] of PLANTED.entries()) {
      // Some can be headers, some are JSON for `use`, some are only named.
      if (index < 10) await setSecret(`p${index}`, value);
      else if (index < 15) await setSecret(`p${index}`, JSON.stringify({ username: "robot", password: value }));
      else await setSecret(`p${index}`, value);
    }
    const at = (path: string, authentication: string): string =>
      `{uri: '${url}${path}', authentication: ${authentication}}`;
    const call = (name: string, endpoint: string, more = ""): string =>
      `- ${name}: {call: http, with: {method: get, endpoint: ${endpoint}${more}}}`;
    const failing = (name: string, endpoint: string): string =>
      `- ${name}: {try: [{call: {call: http, with: {method: get, endpoint: ${endpoint}}}}], catch: {retry: {delay: PT0.01S, limit: {attempt: {count: 1}}}, do: [{note: {set: {error: '\${ $error }'}}}]}}`;
    // A header takes Latin-1, so the token is sent as UTF-8 bytes.
    const bearer = (index: number): string =>
      `{basic: {username: '\${ $secrets.p${index} }', password: '\${ "pre-\\($secrets["p${index + 1}"])" }'}}`;
    const tokenBy = (grant: string, by: string, path: string): string =>
      `{oauth2: {authority: '${url}', endpoints: {token: ${path}}, grant: ${grant}, client: {id: a, ${by}: '\${ $secrets.p1 }', authentication: ${by === "secret" ? "client_secret_post" : "private_key_jwt"}}, username: '\${ $secrets.p2 }', password: '\${ $secrets.p3 }', subject: {token: '\${ $secrets.p4 }', type: jwt}}}`;
    const body = [
      `use: {secrets: [${PLANTED.map((_, index) => `p${index}`).join(", ")}]}`,
      "do:",
      call("content", at("/echo", bearer(0))),
      call("response", at("/echo", bearer(2)), ", output: response"),
      call("raw", at("/echo", bearer(4)), ", output: raw"),
      call("text", at("/text", bearer(6))),
      call("used", at("/echo", "{basic: {use: p10}}"), ", output: response"),
      failing("refused", at("/status/403", bearer(8))),
      failing("broken", at("/status/500/text", "{basic: {use: p11}}")),
      failing("evaluated", at("/echo", "{bearer: {token: '${ $secrets.p15 | tonumber }'}}")),
      failing("raised", at("/echo", "{bearer: {token: '${ error($secrets.p16) }'}}")),
      failing("unsendable", at("/echo", "{bearer: {token: '${ $secrets.p17 }'}}")),
      failing("notAText", at("/echo", "{bearer: {token: '${ [$secrets.p18] }'}}")),
      failing("token", at("/echo", tokenBy("password", "secret", "/echo"))),
      failing("refresh", at("/echo", tokenBy("refresh_token", "assertion", "/status/400"))),
      "- last: {set: '${ . }'}",
    ].join("\n");
    const agent = await agentOf(server, body, "planted");
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: agent },
    });
    const events: Data[] = [];
    for await (const event of server.watch(
      `subscription($id: ID!) { runEvents(runId: $id) { revision run { status output error { detail } } step { name input output error { detail } attempts { error { detail } response { status body } } } } }`,
      { id: runAgent.id },
    ))
      events.push(event);
    const run = await server.data(
      `query($id: ID!) { run(id: $id) { status output error { detail } steps(first: 40) { name input output caught { detail } error { detail } attempts { error { detail } response { status body } } } } }`,
      { id: runAgent.id },
    );
    expect(run.run.status).toBe("completed");
    // The secrets went out, and something was hidden where they would be.
    expect(Buffer.from(seen[0]!.headers.authorization!.slice(6), "base64").toString()).toBe(
      `${PLANTED[0]}:pre-${PLANTED[1]}`,
    );
    const byName = new Map<string, Data>(run.run.steps.map((step: Data) => [step.name, step]));
    expect(byName.get("content").output).toMatchObject({ token: "[redacted]:pre-[redacted]" });
    expect(byName.get("used").output.content.token).toBe("robot:[redacted]");
    expect(byName.get("text").output).toBe("before [redacted]:pre-[redacted] after");
    expect(byName.get("evaluated").caught.detail).toMatch(
      /^an expression in \S+ failed, so nothing was sent; why is not shown/,
    );
    const { data } = await server.graphql(
      "{ secrets(first: 60) { nodes { name updatedBy { name } usedBy { handle } } } }",
    );
    expect(data.secrets.nodes.find(({ name }: Data) => name === "p0").usedBy).toEqual([{ handle: "planted" }]);

    const places: Record<string, string> = {
      ...(await askedAndFired()),
      "the run": JSON.stringify(run),
      "the run's texts": textsIn(run).join("\n"),
      events: JSON.stringify(events),
      "the list of secrets": JSON.stringify(data),
      ...(await placesOf(server)),
    };
    expect(leaksIn(places, PLANTED)).toEqual([]);
    // The search finds what is there.
    const file = `x${Buffer.from(`ab${PLANTED[3]}c`).toString("base64")}`;
    expect(leaksIn({ "a file": file }, PLANTED)).toEqual(["a file has 3"]);
  });

  test("an unset secret is a warning before, and an `authentication` error that names it in the run", async () => {
    const definition = `document: {dsl: '1.0.3', namespace: test, name: unset, version: '1.0.0'}
use: {secrets: [notYet], authentications: {shop: {bearer: {use: notYet}}}}
do: [{send: {call: http, with: {method: get, endpoint: {uri: '${url}/echo', authentication: {use: shop}}}}}]`;
    const check =
      "query($definition: String!) { validateDefinition(definition: $definition) { valid problems { path line message severity } } }";
    const { validateDefinition } = await server.data(check, { definition });
    expect(validateDefinition).toEqual({
      valid: true,
      problems: [
        {
          path: "/use/secrets/0",
          line: 2,
          message: 'the secret "notYet" is not set in the project test; calls that need it will fail',
          severity: "warning",
        },
      ],
    });
    const { publishAgent } = await server.data(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
      { input: { definition } },
    );
    const before = seen.length;
    const failed = await ran(server, publishAgent.id);
    expect(failed.error).toMatchObject({ status: 401, instance: "/do/0/send" });
    expect(failed.error.type).toMatch(/\/authentication$/);
    expect(failed.error.detail).toBe('the secret "notYet" is not set in the project of the agent, so nothing was sent');
    expect(seen).toHaveLength(before);
    await setSecret("notYet", "t0ken");
    expect((await ran(server, publishAgent.id)).status).toBe("completed");
    expect(seen.at(-1)!.headers.authorization).toBe("Bearer t0ken");
    await setSecret("notYet", "an0ther");
    await ran(server, publishAgent.id);
    expect(seen.at(-1)!.headers.authorization).toBe("Bearer an0ther");
    expect((await server.data(check, { definition })).validateDefinition.problems).toEqual([]);
  });

  test("a secret belongs to its project: another's of the same name is not used", async () => {
    const { createProject } = await server.data(
      'mutation { createProject(input: {handle: "beside", name: "Beside"}) { id } }',
    );
    await server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
      input: { projectId: createProject.id, name: "elsewhere", value: "t0ken" },
    });
    const run = await runOf(
      server,
      `use: {secrets: [elsewhere]}\ndo: [{send: {call: http, with: {method: get, endpoint: {uri: '${url}/echo', authentication: {bearer: {token: '\${ $secrets.elsewhere }'}}}}}}]`,
    );
    expect(run.error.detail).toContain('the secret "elsewhere" is not set');
  });

  test("who may choose the host by data is warned", async () => {
    const check = async (endpoint: string): Promise<string[]> => {
      const definition = `document: {dsl: '1.0.3', namespace: test, name: any, version: '1.0.0'}\ndo: [{send: {call: http, with: {method: get, endpoint: {uri: '${endpoint}', authentication: {bearer: {token: t}}}}}}]`;
      const { validateDefinition } = await server.data(
        "query($definition: String!) { validateDefinition(definition: $definition) { problems { message severity } } }",
        { definition },
      );
      return validateDefinition.problems.map(({ message }: Data) => message);
    };
    for (const fixed of ["https://example.com", "https://example.com:8080/{id}", '${ "https://example.com/\\(.id)" }'])
      expect(await check(fixed), fixed).toEqual([]);
    for (const open of [
      "https://{host}/a",
      "https://example.com{path}",
      "${ .url }",
      '${ "https://example.com" + .path }',
    ])
      expect(await check(open), open).toEqual([expect.stringContaining("data decides which host gets the credential")]);
  });
});

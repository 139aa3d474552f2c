/** Secrets in the arguments of calls: sent as they are, kept and shown by name, and found nowhere, whatever a server repeats. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SET_SECRET } from "./audit.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { apiOf, Echo, type Seen } from "./echo.ts";
import { startLlmService, toolCall, type LlmService } from "./llm-service.ts";
import { leaksIn, placesOf, plantedSecret, textsIn } from "./planted-secrets.ts";
import { agentOf, ENDED, readRun, runOf, until } from "./runs.ts";

let server: TestServer;
let model: LlmService;
let echo: Echo;
let other: Echo;
beforeAll(async () => {
  [model, other] = await Promise.all([startLlmService(), new Echo().open()]);
  [server, echo] = await Promise.all([
    startTestServer({
      env: { OUTBOUND_ALLOW: "127.0.0.1/32", LLM_BASE_URL: model.url, LLM_MODEL: "small", LOG_LEVEL: "debug" },
    }),
    new Echo(other.url).open(),
  ]);
});
afterAll(async () => {
  for (const one of [server, model, echo, other]) await one[Symbol.asyncDispose]();
});
beforeEach(() => {
  echo.seen.length = other.seen.length = model.asked.length = 0;
  echo.held = undefined;
});

const setSecret = (name: string, value: string): Promise<Data> =>
  server.data(SET_SECRET, { input: { projectId: server.world.projectId, name, value } });

/** A run of these tasks, which may use the secrets. */
const runWith = (secrets: string[], tasks: object, input: object = {}): Promise<Data> =>
  runOf(server, `use: ${JSON.stringify({ secrets })}\ndo: ${JSON.stringify(tasks)}`, input);
const http = (given: object): object => ({ call: "http", with: { method: "get", ...given } });
/** A call to the echo. */
const call = (given: object): object =>
  http({ method: "post", endpoint: `${echo.url}/echo`, output: "response", ...given });
const stepOf = (run: Data, name: string): Data => run.steps.find((step: Data) => step.name === name);

const PLANTED = Array.from({ length: 20 }, (_, index) => plantedSecret(index));
const p = (index: number): string => `\${ $secrets.p${index} }`;

test("20 planted secrets come back from nowhere: requests, answers, redirects, retries, errors, raw, forms, MCP, tools", async () => {
  for (const [index, value] of PLANTED.entries()) await setSecret(`p${index}`, value);
  const failing = (given: object): object => ({
    try: [{ call: call(given) }],
    catch: { retry: { delay: "PT0.01S", limit: { attempt: { count: 1 } } }, do: [{ note: { set: "${ $error }" } }] },
  });
  const http18 = {
    name: "open",
    description: "Opens.",
    parameters: { type: "object" },
    call: { method: "post", endpoint: `${echo.url}/tool`, body: { key: p(18), given: "${ $arguments }" } },
  };
  model.replies = [toolCall("look", { a: 1 }), toolCall("open", { b: 2 }), `I heard ${PLANTED[17]} and ${PLANTED[18]}`];
  const agent = await agentOf(
    server,
    `use: ${JSON.stringify({ secrets: PLANTED.map((_, index) => `p${index}`) })}\ndo: ${JSON.stringify([
      { path: call({ endpoint: `\${ "${echo.url}/path/\\($secrets.p0)?a=\\($workflow.input.x)" }` }) },
      { encoded: call({ endpoint: { uri: `\${ "${echo.url}/path/\\($secrets.p1 | @uri)" }` } }) },
      { query: call({ query: { key: p(2), x: "${ $workflow.input.x }" } }) },
      {
        header: call({ headers: { "X-Key": p(3), Authorization: '${ "Token \\($secrets.p4)" }', "X-Plain": "plain" } }),
      },
      { raw: call({ headers: { "X-Key": p(5) }, output: "raw" }) },
      { body: call({ body: { a: [{ b: p(6) }], c: "${ $secrets.p7 | @base64 }", d: "${ $workflow.input.x }" } }) },
      { keys: call({ body: "${ {($secrets.p8): 1, x: $workflow.input.x} }" }) },
      { form: call({ headers: { "Content-Type": "application/x-www-form-urlencoded" }, body: { a: p(9), b: "c" } }) },
      { text: call({ body: '${ "x=\\($secrets.p10)" }', output: "content" }) },
      { again: failing({ endpoint: `${echo.url}/status/503`, headers: { "X-Key": p(11) }, body: { a: p(11) } }) },
      {
        moved: call({
          endpoint: `${echo.url}/redirect/307/here`,
          headers: { "X-Key": p(12) },
          body: [p(12)],
          redirect: true,
        }),
      },
      {
        unmoved: failing({
          endpoint: `${echo.url}/redirect/302/here`,
          query: { a: p(12) },
          headers: { "X-Key": p(12) },
        }),
      },
      {
        away: call({
          endpoint: `${echo.url}/redirect/302/away`,
          headers: { "X-Key": "${ $secrets.p13[0:30] }", "User-Agent": p(13), Accept: p(13) },
          body: "${ {a: $secrets.p13} }",
          redirect: true,
        }),
      },
      { kept: failing({ endpoint: `${echo.url}/redirect/308/away`, body: { a: p(14) }, redirect: true }) },
      {
        mcp: {
          call: "mcp",
          with: {
            method: "tools/call",
            parameters: { name: "look", arguments: {} },
            transport: { http: { endpoint: `\${ "${echo.url}/mcp/\\($secrets.p15)" }`, headers: { "X-Key": p(16) } } },
          },
        },
      },
      {
        unmcp: {
          try: [
            {
              a: {
                call: "mcp",
                with: {
                  method: "tools/list",
                  protocolVersion: "2025-06-18",
                  transport: { http: { endpoint: `${echo.url}/status/400`, headers: { "X-Key": p(16) } } },
                },
              },
            },
          ],
          catch: { do: [{ note: { set: "${ $error }" } }] },
        },
      },
      {
        ask: {
          call: "assistant:1.0.0@default",
          with: {
            prompt: "Look",
            tools: [
              { mcp: { endpoint: `${echo.url}/mcp`, headers: { "X-Key": p(17) }, allow: ["look"] } },
              { http: http18 },
            ],
          },
        },
      },
      { failed: failing({ body: { a: "${ $secrets.p19 | tonumber }" } }) },
      { raised: failing({ headers: { a: "${ error($secrets.p19) }" } }) },
      { broken: failing({ headers: { a: '${ "\\n\\($secrets.p19)" }' } }) },
      { unfit: failing({ headers: "${ {($secrets.p19): [1]} }" }) },
      { unsent: failing({ headers: { "Content-Type": '${ "text/plain; charset=\\($secrets.p19)" }' }, body: "é" }) },
      { last: { set: "${ . }" } },
    ])}`,
    "planted",
  );
  const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
    input: { agentId: agent, input: { x: 7 } },
  });
  const events: Data[] = [];
  for await (const event of server.watch(
    `subscription($id: ID!) { runEvents(runId: $id) { revision run { status output error { detail } } step { name input output error { detail response { headers body } } attempts { error { detail } response { status body } } } textDelta { text } } }`,
    { id: runAgent.id },
  ))
    events.push(event);
  const { run } = await server.data(
    `query($id: ID!) { run(id: $id) { status output error { detail } steps(first: 100) { name status input output caught { detail response { headers body } } error { detail } attempts { error { detail } response { status body } } } } }`,
    { id: runAgent.id },
  );
  expect(run.error).toBe(null);

  // They went out.
  const sent = (path: string): Seen[] => echo.seen.filter(({ url }) => url.startsWith(path));
  const bodyOf = (index: number): Data => JSON.parse(sent("/echo").at(index)!.body);
  expect(sent("/path").map(({ url }) => decodeURIComponent(url))).toEqual([
    `/path/${PLANTED[0]}?a=7`,
    `/path/${PLANTED[1]}`,
  ]);
  expect(new URL(sent("/echo")[0]!.url, echo.url).searchParams.get("key")).toBe(PLANTED[2]);
  expect(sent("/echo")[1]!.headers).toMatchObject({ "x-key": PLANTED[3], authorization: `Token ${PLANTED[4]}` });
  expect(bodyOf(3)).toEqual({ a: [{ b: PLANTED[6] }], c: Buffer.from(PLANTED[7]!).toString("base64"), d: 7 });
  expect(bodyOf(4)).toEqual({ [PLANTED[8]!]: 1, x: 7 });
  expect(sent("/echo")[5]!.body).toBe(new URLSearchParams({ a: PLANTED[9]!, b: "c" }).toString());
  expect(sent("/status/503").map(({ headers }) => headers["x-key"])).toEqual([PLANTED[11], PLANTED[11]]);
  // To the same origin with everything, to another with nothing of a secret.
  const moved = echo.seen[echo.seen.findIndex(({ url }) => url.startsWith("/redirect/307")) + 1]!;
  expect(moved).toMatchObject({ headers: { "x-key": PLANTED[12] }, body: JSON.stringify([PLANTED[12]]) });
  expect(sent("/redirect/302/away")[0]!.headers).toMatchObject({ "user-agent": PLANTED[13], accept: PLANTED[13] });
  expect(other.seen).toMatchObject([{ method: "GET", body: "" }]);
  for (const name of ["x-key", "user-agent", "accept"]) expect(other.seen[0]!.headers).not.toHaveProperty(name);
  expect(decodeURIComponent(sent("/mcp/")[0]!.url)).toBe(`/mcp/${PLANTED[15]}`);
  expect(sent("/mcp").map(({ headers }) => headers["x-key"])).toEqual([PLANTED[16], PLANTED[17], PLANTED[17]]);
  expect(JSON.parse(sent("/tool")[0]!.body)).toEqual({ key: PLANTED[18], given: { b: 2 } });

  // They are kept and shown by name, and whatever repeats them is hidden.
  const input = (name: string): Data => stepOf(run, name).input;
  expect(input("path").endpoint).toBe(`${echo.url}/path/[secret p0]?a=7`);
  expect(stepOf(run, "path").output.request.uri).toBe(`${echo.url}/path/[secret p0]?a=7`);
  expect(input("encoded").endpoint).toBe("[secret p1]");
  expect(input("query")).toMatchObject({ endpoint: `${echo.url}/echo`, query: { key: "[secret p2]", x: 7 } });
  expect(stepOf(run, "query").output.request.uri).toBe(`${echo.url}/echo?key=[secret p2]&x=7`);
  const headers = { "X-Key": "[secret p3]", Authorization: "Token [secret p4]", "X-Plain": "plain" };
  expect(input("header").headers).toEqual(headers);
  expect(stepOf(run, "header").output).toMatchObject({
    request: { headers },
    content: { headers: { "x-key": "[redacted]" } },
  });
  expect(input("body").body).toEqual({ a: [{ b: "[secret p6]" }], c: "[secret p7]", d: 7 });
  expect(input("keys").body).toEqual({ "[secret p8]": 1, x: 7 });
  expect(input("text").body).toBe("x=[secret p10]");
  expect(stepOf(run, "text").output.body).toBe("x=[redacted]");
  expect(stepOf(run, "again").attempts).toHaveLength(2);
  expect(stepOf(run, "kept").caught.detail).toMatch(
    /leads to another origin, which must not get the secret in the body$/,
  );
  expect(stepOf(run, "mcp").input).toMatchObject({
    endpoint: `${echo.url}/mcp/[secret p15]`,
    headers: { "X-Key": "[secret p16]" },
  });
  expect(stepOf(run, "tools/list").input).toMatchObject({ headers: { "X-Key": "[secret p17]" } });
  expect(stepOf(run, "look").input.request.headers).toEqual({ "X-Key": "[secret p17]" });
  expect(stepOf(run, "open").input.request.body).toEqual({ key: "[secret p18]", given: { b: 2 } });
  expect(stepOf(run, "ask").output).toBe("I heard [redacted] and [redacted]");
  const why = "so nothing was sent; why is not shown, because it may contain a secret";
  expect(["failed", "raised", "broken", "unfit", "unsent"].map((name) => stepOf(run, name).caught.detail)).toEqual([
    `an expression in /do/17/failed/try/0/call/with/body/a failed, ${why}`,
    `an expression in /do/18/raised/try/0/call/with/headers/a failed, ${why}`,
    "the value of the header a has characters that can't be sent",
    expect.stringMatching(/^\[secret p19\] in \/do\/20\/unfit\/try\/0\/call\/with\/headers is a list/),
    `what /do/21/unsent/try/0/call/with yields with its secrets can't be sent, ${why}`,
  ]);

  const places = {
    "the run": JSON.stringify(run),
    "the run's texts": textsIn(run).join("\n"),
    events: JSON.stringify(events),
    "what the model read": JSON.stringify(model.asked),
    ...(await placesOf(server)),
  };
  expect(leaksIn(places, PLANTED)).toEqual([]);
  // Nor a part of one that an expression made and sent.
  for (const [place, content] of Object.entries(places))
    expect(content.includes(PLANTED[13]!.slice(0, 30)), place).toBe(false);
});

describe("each attempt", () => {
  test("has the secret's present value; a repeat sends what was kept of the rest", async () => {
    await setSecret("rotated", "first-value");
    const agent = await agentOf(
      server,
      `use: {secrets: [rotated]}\ndo: ${JSON.stringify([
        {
          send: {
            try: [
              {
                a: call({
                  endpoint: `${echo.url}/status/500`,
                  headers: { "X-Key": "${ $secrets.rotated }" },
                  body: "${ $runtime.now.epoch.milliseconds }",
                }),
              },
            ],
            catch: { retry: { delay: "PT1H", limit: { attempt: { count: 1 } } } },
          },
        },
      ])}`,
    );
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: agent },
    });
    await eventually(async () => (await readRun(server, runAgent.id)).steps[0]?.attempts[0]?.error);
    await setSecret("rotated", "second-value");
    await server.clock.advance(3_600_000);
    const run = await until(server, runAgent.id, ...ENDED);
    expect(echo.seen.map(({ headers }) => headers["x-key"])).toEqual(["first-value", "second-value"]);
    expect(new Set(echo.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(run.steps[0].input.headers).toEqual({ "X-Key": "[secret rotated]" });
    expect(JSON.stringify(run)).not.toMatch(/(?:first|second)-value/);
  });

  test("fails if the secret is gone meanwhile, and names it; set again, it is used", async () => {
    await setSecret("leaving", "there-it-is");
    const id = (await setSecret("leaving", "there-it-is")).setSecret.id;
    const agent = await agentOf(
      server,
      `use: {secrets: [leaving]}\ndo: ${JSON.stringify([
        { pause: { wait: "PT1H" } },
        {
          send: {
            try: [{ a: call({ query: { key: "${ $secrets.leaving }" } }) }],
            catch: {
              errors: { with: { type: "https://serverlessworkflow.io/spec/1.0.0/errors/authentication" } },
              retry: { delay: "PT1H", limit: { attempt: { count: 1 } } },
            },
          },
        },
      ])}`,
    );
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: agent },
    });
    await eventually(async () => (await readRun(server, runAgent.id)).steps[0]?.status === "running");
    await server.data(`mutation { deleteSecret(input: {secretId: "${id}"}) { id } }`);
    await server.clock.advance(3_600_000);
    const waiting = await eventually(async () => {
      const run = await readRun(server, runAgent.id);
      return run.steps[1]?.attempts[0]?.error && run;
    });
    expect(waiting.steps[1].attempts[0].error).toMatchObject({
      status: 401,
      detail: 'the secret "leaving" is not set in the project of the agent, so nothing was sent',
    });
    expect(echo.seen).toEqual([]);
    await setSecret("leaving", "back-again");
    await server.clock.advance(3_600_000);
    expect((await until(server, runAgent.id, ...ENDED)).status).toBe("completed");
    expect(echo.seen[0]!.url).toBe("/echo?key=back-again");
  });

  test("that a dead process began is repeated with the secret, which no row has, and with what was kept of the rest", async () => {
    await setSecret("killed", "k1lled-value");
    let release!: () => void;
    echo.held = new Promise((resolve) => (release = resolve));
    const now = "\\($runtime.now.epoch.milliseconds)";
    const kept = call({
      endpoint: { uri: `\${ "${echo.url}/kept?at=${now}" }` },
      query: { key: "${ $secrets.killed }" },
    });
    const made = call({
      endpoint: `\${ "${echo.url}/made/\\($secrets.killed)" }`,
      body: { key: "${ $secrets.killed }", x: "${ .x }" },
    });
    const operation = (parameters: object): object => ({
      call: "openapi",
      with: { document: { inline: apiOf(echo.url) }, operationId: "change", parameters: { id: 1, ...parameters } },
    });
    const api = operation({ key: "${ $secrets.killed }", at: `\${ "${now}" }` });
    const plain = operation({ key: "plain", at: `\${ "${now}" }` });
    const branches = { branches: [{ kept }, { made }, { api }, { plain }] };
    const agent = await agentOf(
      server,
      `use: {secrets: [killed]}\ndo: ${JSON.stringify([{ both: { fork: branches } }])}`,
    );
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: agent, input: { x: 1 } },
    });
    await eventually(async () => echo.seen.length === 4);
    await server.kill();
    release();
    await server.restart();
    const run = await until(server, runAgent.id, ...ENDED);
    expect(run.status).toBe("completed");
    const [first, again] = echo.seen.filter(({ url }) => url.startsWith("/kept"));
    expect(first!.url).toMatch(/^\/kept\?at=\d+&key=k1lled-value$/);
    expect(again!.url).toBe(first!.url);
    expect(
      echo.seen.filter(({ url }) => url.startsWith("/made")).map(({ url, body }) => [url, JSON.parse(body)]),
    ).toEqual(Array.from({ length: 2 }, () => ["/made/k1lled-value", { key: "k1lled-value", x: 1 }]));
    for (const key of ["k1lled-value", "plain"]) {
      const sent = echo.seen.filter(({ url }) => url === `/api/things/1?key=${key}`);
      expect(sent).toHaveLength(2);
      // The same request with the same key; `at` is a field of its body.
      expect(sent[1]).toMatchObject({ body: sent[0]!.body, method: "POST" });
      expect(JSON.parse(sent[0]!.body).at).toMatch(/^\d+$/);
      expect(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    }
    for (const name of ["api", "plain"]) {
      const { attempts } = stepOf(run, name);
      expect(attempts).toHaveLength(2);
      expect(attempts[0].error.detail).toContain("whether it took effect is not known");
    }
    expect(stepOf(run, "kept").input.endpoint).toMatch(/\/kept\?at=\d+$/);
    expect(stepOf(run, "made").input).toMatchObject({
      endpoint: `${echo.url}/made/[secret killed]`,
      body: { key: "[secret killed]", x: 1 },
    });
    expect(leaksIn({ run: JSON.stringify(run), ...(await placesOf(server)) }, ["k1lled-value"])).toEqual([]);
  });
});

describe("the address", () => {
  test("may be a secret: its host is in no error and no log, as it is or as a URL's parser writes it", async () => {
    await setSecret("host", "S3cret-Host");
    const tasks = [
      { endpoint: '${ "http://\\($secrets.host).invalid/a" }' },
      { endpoint: '${ "http://127.0.0.2:1/\\($secrets.host)" }' },
      { endpoint: '${ "http://user:\\($secrets.host)@127.0.0.1/" }' },
      { endpoint: '${ "nonsense \\($secrets.host)" }' },
      { endpoint: '${ "http://127.0.0.1/\\($secrets.host)/../a" }' },
      { endpoint: '${ "\\($secrets.host)://x" }' },
      { endpoint: `\${ "${echo.url}/redirect/302/nowhere/\\($secrets.host)" }`, redirect: true },
    ].map((given, index) => ({
      [`t${index}`]: { try: [{ a: http(given) }], catch: { do: [{ note: { set: "${ $error }" } }] } },
    }));
    const run = await runWith(["host"], tasks);
    expect(run.error).toBe(null);
    const details = run.steps.filter(({ name }: Data) => name === "note").map(({ output }: Data) => output.detail);
    expect(details).toEqual([
      expect.stringMatching(/^http:\/\/\[redacted\]\.invalid has a name that/),
      expect.stringMatching(/^the call is refused: 127\.0\.0\.2 is a loopback address/),
      expect.stringMatching(/holds a user name or password/),
      expect.stringMatching(/is not a valid URL/),
      expect.stringMatching(/^what \/do\/4\/t4\/try\/0\/a\/with yields with its secrets can't be sent/),
      expect.stringMatching(/only http and https can be called/),
      expect.stringMatching(/answered 404/),
    ]);
    const all = JSON.stringify(run) + server.log();
    expect(all.toLowerCase()).not.toContain("s3cret-host");
    expect(server.log()).toContain("127.0.0.2");
  });

  test("may be one that a server repeats as it got it, in small letters", async () => {
    await setSecret("host", "LocalHost");
    const run = await runWith(
      ["host"],
      [{ a: call({ endpoint: `\${ "http://\\($secrets.host):${new URL(echo.url).port}/echo" }`, output: "content" }) }],
    );
    expect(run.output.headers.host).toMatch(/^\[redacted\]:\d+$/);
    expect(JSON.stringify(run)).not.toContain("localhost");
  });

  test("that data may choose is warned of, wherever the secret stands; one that a secret chooses is not", async () => {
    const check = (given: object): Promise<string[]> => problemsOf(http(given));
    const problemsOf = async (task: object): Promise<string[]> => {
      const definition = `document: {dsl: '1.0.3', namespace: test, name: any, version: '1.0.0'}\nuse: {secrets: [host]}\ndo: ${JSON.stringify([{ a: task }])}`;
      const { validateDefinition } = await server.data(
        "query($definition: String!) { validateDefinition(definition: $definition) { problems { message } } }",
        { definition },
      );
      return validateDefinition.problems.map(({ message }: Data) => message);
    };
    const key = "${ $secrets.host }";
    const warned = [expect.stringContaining("data decides which host gets the credential")];
    for (const part of [{ headers: { a: key } }, { query: { a: key } }, { method: "post", body: [[key]] }])
      expect(await check({ endpoint: "${ .url }", ...part })).toEqual(warned);
    expect(await check({ endpoint: '${ "\\(.url)/\\($secrets.host)" }' })).toEqual(warned);
    expect(await check({ endpoint: '${ "\\($secrets.host)\\(.url)" }' })).toEqual(warned);
    expect(await check({ endpoint: "${ .url }", headers: { a: "b" } })).toEqual([]);
    for (const fixed of [
      "${ $secrets.host }",
      '${ $secrets.host + "/a" }',
      '${ "\\($secrets.host)/\\(.id)" }',
      '${$secrets["host"]}',
    ])
      expect(await check({ endpoint: fixed, headers: { a: key } }), fixed).toEqual([]);
    const api = (endpoint: string): Promise<string[]> =>
      problemsOf({ call: "openapi", with: { document: { endpoint }, operationId: "a", parameters: { key } } });
    expect(await api("${ .url }")).toEqual([expect.stringContaining("data decides which document says where")]);
    expect(await api('${ "\\($secrets.host)/\\(.id)" }')).toEqual([]);
    expect(await api('${ "https://example.com/\\($secrets.host | @uri)" }')).toEqual([
      expect.stringContaining("write $secrets.NAME alone, or within a text"),
    ]);
  });
});

test("what is wrong without the secret is said as ever, before anything is sent", async () => {
  await setSecret("plain", "plain-value");
  const key = "${ $secrets.plain }";
  const given = [
    { endpoint: `${echo.url}/{gone}`, query: { key } },
    { endpoint: `\${ "${echo.url}/\\($workflow.input.gone)/\\($secrets.plain)" }` },
    { headers: { "X-Key": key, "X-Other": "${ $workflow.input.gone }" } },
    { query: { key, x: "${ [1] }" } },
    { headers: { "Content-Type": "application/xml" }, body: "${ {a: $secrets.plain} }" },
    { headers: { "X-Key": "${ $secrets.plain + 1 }" } },
  ];
  const tasks = given.map((one, index) => ({
    [`t${index}`]: { try: [{ a: call(one) }], catch: { do: [{ note: { set: "${ {} }" } }] } },
  }));
  const run = await runWith(["plain"], tasks);
  const caught = await server.data("query($id: ID!) { run(id: $id) { steps(first: 50) { caught { detail } } } }", {
    id: run.id,
  });
  const details = caught.run.steps.flatMap(({ caught: error }: Data) => (error ? [error.detail] : []));
  expect(details).toEqual([
    expect.stringMatching(/^the task's input has no "gone" for \{gone\}/),
    expect.stringMatching(
      /^\$workflow\.input\.gone in \/do\/1\/t1\/try\/0\/a\/with\/endpoint is null, so nothing was sent/,
    ),
    "${ $workflow.input.gone } in /do/2/t2/try/0/a/with/headers/X-Other is null, so nothing was sent",
    "${ [1] } in /do/3/t3/try/0/a/with/query/x is a list, so nothing was sent",
    expect.stringMatching(/\/with\/body is an object, which can't be sent as application\/xml/),
    expect.stringMatching(/cannot be added/),
  ]);
  expect(details.join("\n")).not.toContain("plain-value");
  expect(echo.seen).toEqual([]);
});

test("a text that looks like a placeholder is a text, and short secrets are sent and shown by name", async () => {
  await setSecret("short", "on");
  const run = await runWith(
    ["short"],
    [
      {
        a: call({
          headers: { "X-Key": "${ $secrets.short }" },
          body: { given: "${ .given }", key: "${ [$secrets.short, .given] }" },
        }),
      },
    ],
    { given: "[secret short]" },
  );
  expect(JSON.parse(echo.seen[0]!.body)).toEqual({ given: "[secret short]", key: ["on", "[secret short]"] });
  expect(run.steps[0].input).toMatchObject({
    headers: { "X-Key": "[secret short]" },
    body: { given: "[secret short]", key: ["[secret short]", "[secret short]"] },
  });
  expect(run.output.request.headers).toEqual({ "X-Key": "[secret short]" });
});

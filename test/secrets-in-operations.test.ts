/** Secrets in the parameters of OpenAPI operations and in the arguments of scripts: found nowhere, whatever a service or a script repeats. */
import { hash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SET_SECRET } from "./audit.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { apiOf, Echo } from "./echo.ts";
import { startEndpoint, type Endpoint } from "./endpoint.ts";
import { leaksIn, placesOf, plantedSecret, textsIn } from "./planted-secrets.ts";
import { agentOf, ENDED, readRun, runOf, until } from "./runs.ts";

let server: TestServer;
let echo: Echo;
/** Serves OpenAPI documents. */
let site: Endpoint;
beforeAll(async () => {
  [server, echo, site] = await Promise.all([
    startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32", LOG_LEVEL: "debug" } }),
    new Echo().open(),
    startEndpoint(),
  ]);
});
afterAll(async () => {
  for (const one of [server, echo, site]) await one[Symbol.asyncDispose]();
});

const setSecret = (name: string, value: string): Promise<Data> =>
  server.data(SET_SECRET, { input: { projectId: server.world.projectId, name, value } });
const stepOf = (run: Data, name: string): Data => run.steps.find((step: Data) => step.name === name);

const PLANTED = Array.from({ length: 20 }, (_, index) => plantedSecret(index));
const p = (index: number): string => `\${ $secrets.p${index} }`;

test("20 planted secrets come back from nowhere: every place of an OpenAPI operation, and scripts", async () => {
  for (const [index, value] of PLANTED.entries()) await setSecret(`p${index}`, value);
  const inline = apiOf(echo.url);
  site.answer = { body: JSON.stringify(inline), headers: { "content-type": "application/json" } };
  const openapi = (operationId: string, parameters: unknown, more: object = {}): object => ({
    call: "openapi",
    with: { document: { inline }, operationId, parameters, output: "response", ...more },
  });
  const change = (parameters: object, more?: object): object => openapi("change", { id: 1, ...parameters }, more);
  const script = (code: string, given: object): object => ({
    run: { script: { language: "js", code, arguments: given } },
  });
  const caught = (task: object): object => ({
    try: [{ t: task }],
    catch: {
      retry: { delay: "PT0.01S", limit: { attempt: { count: 1 } } },
      do: [{ note: { set: "${ $error }" } }],
    },
  });
  const cookie = '${ $secrets.p3 | explode | map(tostring) | join("-") }';
  const base = '${ $secrets.p4 | explode | map(tostring) | join(".") }';
  const said =
    "return [key, {deep: {[key]: key}}, btoa(unescape(encodeURIComponent(key))), key.length, crypto.sha256(key)]";
  const tasks = [
    { path: change({ id: p(0) }) },
    { query: change({ key: `\${ "a \\($secrets.p1)" }` }) },
    { header: change({ "X-Key": p(2) }) },
    { cookie: change({ session: cookie }) },
    { base: change({ base }) },
    { field: change({ secret: p(5), other: "${ $workflow.input.x }" }) },
    { body: change({ body: { a: [p(6)], b: "${ $secrets.p6 | @base64 }" } }) },
    { form: openapi("send", { secret: p(7), x: "${ $workflow.input.x }" }) },
    { text: openapi("say", { body: `\${ "x=\\($secrets.p8)" }` }) },
    { whole: openapi("change", "${ {id: $workflow.input.x, key: $secrets.p9} }") },
    { made: openapi("change", "${ {id: 1, body: {key: ($secrets.p10 | ascii_downcase)}} }", { output: "raw" }) },
    {
      remote: {
        call: "openapi",
        with: {
          document: { endpoint: `\${ "${site.url}/doc?key=\\($secrets.p11)" }` },
          operationId: "change",
          parameters: { id: 1, key: p(12) },
        },
      },
    },
    { unsent: caught(change({ session: p(13) })) },
    { failed: caught(change({ key: "${ $secrets.p13 | tonumber }" })) },
    { unfit: caught(openapi("change", "${ {id: 1, ($secrets.p13): 1} | del(.id) }")) },
    { output: script(said, { key: p(14) }) },
    { log: script("console.log(key, {key}); console.warn(escape(key)); return x", { key: p(15), x: 1 }) },
    { thrown: caught(script("console.log('begun'); throw new TypeError('no ' + key)", { key: p(16) })) },
    { odd: caught(script("throw {key}", { key: p(16) })) },
    { cut: script("console.log('x'.repeat(16 * 1024 - 9) + key)", { key: p(17) }) },
    { long: caught(script("throw new Error('x'.repeat(1_983) + key)", { key: p(17) })) },
    { number: caught(script("return n", { n: '${ [$secrets.p18 | explode[] | tostring] | join("") | tonumber }' })) },
    { missing: caught(script("return a", { a: "${ error($secrets.p19) }" })) },
  ];
  const secrets = PLANTED.map((_, index) => `p${index}`);
  const all = [...tasks, { last: { set: "${ . }" } }];
  const run = await runOf(server, `use: ${JSON.stringify({ secrets })}\ndo: ${JSON.stringify(all)}`, { x: 7 });
  expect(run.error).toBe(null);
  const { run: more } = await server.data(
    `query($id: ID!) { run(id: $id) { output steps(first: 100) { name log status input output caught { detail response { headers body } } attempts { error { detail } response { status body } } } } }`,
    { id: run.id },
  );

  // They went out.
  const sent = echo.seen.map((one) => ({ ...one, to: decodeURIComponent(one.url) }));
  expect(sent.map(({ to }) => to)).toMatchObject({
    0: `/api/things/${PLANTED[0]}`,
    1: `/api/things/1?key=a ${PLANTED[1]}`,
    9: `/api/things/7?key=${PLANTED[9]}`,
    11: `/api/things/1?key=${PLANTED[12]}`,
    length: 12,
  });
  const codes = (index: number, between: string): string =>
    [...PLANTED[index]!].map((sign) => sign.charCodeAt(0)).join(between);
  expect(sent[2]!.headers["x-key"]).toBe(PLANTED[2]);
  expect(sent[3]!.headers.cookie).toBe(`session=${codes(3, "-")}`);
  expect(sent[4]!.to).toBe(`/${codes(4, ".")}/things/1`);
  expect(JSON.parse(sent[5]!.body)).toEqual({ secret: PLANTED[5], other: 7 });
  expect(JSON.parse(sent[6]!.body)).toEqual({ a: [PLANTED[6]], b: Buffer.from(PLANTED[6]!).toString("base64") });
  expect(Object.fromEntries(new URLSearchParams(sent[7]!.body))).toEqual({ secret: PLANTED[7], x: "7" });
  expect(sent[8]!.body).toBe(`x=${PLANTED[8]}`);
  expect(decodeURIComponent(site.seen[0]!.url)).toBe(`/doc?key=${PLANTED[11]}`);

  // They are kept and shown by name, and what repeats them is hidden.
  const input = (name: string): Data => stepOf(more, name).input;
  const [things, key] = [`${echo.url}/api/things`, "[secret p12]"];
  expect(input("path")).toMatchObject({ endpoint: `${things}/[secret p0]`, parameters: { id: "[secret p0]" } });
  expect(stepOf(more, "path").output.request.uri).toBe(`${things}/[secret p0]`);
  expect(input("query").endpoint).toBe(`${things}/1?key=a%20[secret p1]`);
  expect(input("header").headers).toEqual({ "X-Key": "[secret p2]" });
  expect(input("cookie").headers).toEqual({ Cookie: "session=[secret p3]" });
  expect(input("base").endpoint).toBe(`${echo.url}/[secret p4]/things/1`);
  expect(input("field").body).toEqual({ secret: "[secret p5]", other: 7 });
  expect(input("body").body).toEqual({ a: ["[secret p6]"], b: "[secret p6]" });
  expect(input("form").parameters).toEqual({ secret: "[secret p7]", x: 7 });
  expect(input("text").body).toBe("x=[secret p8]");
  expect(input("whole")).toMatchObject({ endpoint: `${things}/7?key=[secret p9]`, method: "POST" });
  expect(input("made")).toMatchObject({ endpoint: `${echo.url}/{base}/things/{id}`, parameters: "[secret p10]" });
  expect(input("remote")).toMatchObject({ document: `${site.url}/doc?key=[secret p11]`, parameters: { key } });
  const why = "why is not shown, because it may contain a secret";
  const detailOf = (name: string): string => stepOf(more, name).caught.detail;
  expect(["unsent", "failed", "unfit", "thrown", "odd", "missing"].map(detailOf)).toEqual([
    `what /do/12/unsent/try/0/t/with yields with its secrets can't be sent, so nothing was sent; ${why}`,
    `an expression in /do/13/failed/try/0/t/with/parameters/key failed, so nothing was sent; ${why}`,
    `what /do/14/unfit/try/0/t/with yields with its secrets can't be sent, so nothing was sent; ${why}`,
    expect.stringMatching(/^TypeError: no \[redacted\] \(line 1, column \d+\)$/),
    'the script threw {"key":"[redacted]"}',
    `an expression in /do/22/missing/try/0/t/run/script/arguments/a failed, so the script did not run; ${why}`,
  ]);
  expect(detailOf("number")).toContain("so the script did not run; why is not shown");
  expect(detailOf("long")).toMatch(/^Error: x{1983}\[redacted\]? \(line/);
  expect(input("output")).toEqual({ key: "[secret p14]" });
  expect(stepOf(more, "output").output).toEqual([
    "[redacted]",
    { deep: { "[redacted]": "[redacted]" } },
    // The last group of base64 depends on what follows.
    expect.stringMatching(/^\[redacted\][\w=]{0,4}$/),
    PLANTED[14]!.length,
    hash("sha256", PLANTED[14]!),
  ]);
  expect(stepOf(more, "log")).toMatchObject({ log: '[redacted] {"key":"[redacted]"}\n[redacted]', output: 1 });
  const logOf = (name: string): string => more.steps.find((step: Data) => step.name === name && step.log).log;
  expect(logOf("cut")).toMatch(/^x{16375}\[redacted(?:\]|)\n… \(the rest was cut\)$/);

  const places = {
    "the run": JSON.stringify([run, more]),
    texts: textsIn([run, more]).join("\n"),
    ...(await placesOf(server)),
  };
  expect(leaksIn(places, PLANTED)).toEqual([]);
  for (const [place, content] of Object.entries(places))
    for (const part of [PLANTED[17]!.slice(0, 9), codes(3, "-"), codes(4, ".")])
      expect(content.includes(part), place).toBe(false);
});

test("each attempt of a script has the secret's present value", async () => {
  await setSecret("rotated", "first-value");
  const code = "if (attempt < 2) throw new Error(key); return crypto.sha256(key)";
  const given = { key: "${ $secrets.rotated }", attempt: "${ $task.attempt }" };
  const once = { run: { script: { language: "js", code, arguments: given } } };
  const again = { try: [{ once }], catch: { retry: { delay: "PT1H", limit: { attempt: { count: 1 } } } } };
  const agent = await agentOf(server, `use: {secrets: [rotated]}\ndo: ${JSON.stringify([{ again }])}`);
  const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
    input: { agentId: agent },
  });
  const failed = await eventually(async () =>
    (await readRun(server, runAgent.id)).steps.find((one: Data) => one.error),
  );
  expect(failed.error.detail).toMatch(/^Error: \[redacted\] \(line 1/);
  await setSecret("rotated", "second-value");
  await server.clock.advance(3_600_000);
  const run = await until(server, runAgent.id, ...ENDED);
  expect(run.output).toBe(hash("sha256", "second-value"));
  expect(JSON.stringify(run)).not.toMatch(/(?:first|second)-value/);
});

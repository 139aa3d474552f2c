/** Parts of secrets: of one that is a URL, and those that an expression makes. They are found nowhere, whatever a server repeats. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { SET_SECRET } from "./audit.ts";
import { startTestServer, type Data, type TestServer } from "./client.ts";
import { Echo } from "./echo.ts";
import { runOf } from "./runs.ts";

let server: TestServer;
let echo: Echo;
beforeAll(async () => {
  [server, echo] = await Promise.all([
    startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32", LOG_LEVEL: "debug" } }),
    new Echo().open(),
  ]);
});
afterAll(async () => {
  for (const one of [server, echo]) await one[Symbol.asyncDispose]();
});
beforeEach(() => void (echo.seen.length = 0));

const setSecret = (name: string, value: string): Promise<Data> =>
  server.data(SET_SECRET, { input: { projectId: server.world.projectId, name, value } });

/** A run of these tasks, which may use the secrets. */
const runWith = (secrets: string[], tasks: object, input: object = {}): Promise<Data> =>
  runOf(server, `use: ${JSON.stringify({ secrets })}\ndo: ${JSON.stringify(tasks)}`, input);
/** A call to the echo. */
const call = (given: object): object => ({
  call: "http",
  with: { method: "post", endpoint: `${echo.url}/echo`, output: "response", ...given },
});
const stepOf = (run: Data, name: string): Data => run.steps.find((step: Data) => step.name === name);

test("what an expression makes of a secret is hidden in a list and an object, too, and data beside it is not", async () => {
  await setSecret("mixed", "MiXed-Planted-Value");
  await setSecret("fields", '{"nr": 7, "code": "c0de-of-a-JSON"}');
  const bodies = {
    small: "${ {note: .note, keys: [$secrets.mixed | ascii_downcase]} }",
    large: '${ {note: .note, ("x-" + ($secrets.mixed | ascii_upcase)): 1} }',
    inside: "${ {note: .note, all: [$secrets.fields | fromjson | .code | ascii_upcase]} }",
  };
  const run = await runWith(
    ["mixed", "fields"],
    Object.entries(bodies).map(([name, body]) => ({
      [name]: { ...call({ body }), export: { as: "${ . }" }, input: { from: "${ $workflow.input }" } },
    })),
    { note: "a-plain-note" },
  );
  expect(echo.seen.map(({ body }) => JSON.parse(body))).toEqual([
    { note: "a-plain-note", keys: ["mixed-planted-value"] },
    { note: "a-plain-note", "x-MIXED-PLANTED-VALUE": 1 },
    { note: "a-plain-note", all: ["C0DE-OF-A-JSON"] },
  ]);
  const shown = Object.keys(bodies).map((name) => JSON.parse(stepOf(run, name).output.content.body));
  expect(shown.slice(0, 2)).toEqual([
    { note: "a-plain-note", keys: ["[redacted]"] },
    { note: "a-plain-note", "[redacted]": 1 },
  ]);
  expect(JSON.stringify(run).toLowerCase()).not.toMatch(/mixed-planted|c0de-of-a/);
});

test("the address may be a whole secret: its host, its path and what stands in it come back from nowhere, each alone or together", async () => {
  const [token, query] = ["b64url_planted-hook-token", "planted query"];
  const { host } = new URL(echo.url);
  await setSecret("hook", `http://${host}/services/T0/${token}?key=${encodeURIComponent(query)}&v=1`);
  await setSecret("base", `${host}/v1/${token}`);
  await setSecret("opaque", "A-planted-token-with-a-colon:9f8e7d6c5b4a");
  await setSecret("lost", `http://Planted-Host.invalid/status/404`);
  const urls = {
    whole: "${ $secrets.hook }",
    begun: '${ "http://\\($secrets.base)/items/7" }',
    opaque: "${ $secrets.opaque }",
    lost: "${ $secrets.lost }",
  };
  const tasks = Object.entries(urls).map(([name, endpoint]) => ({
    [name]: { try: [{ a: call({ endpoint }) }], catch: { do: [{ note: { set: "${ $error }" } }] } },
  }));
  const run = await runWith(["hook", "base", "opaque", "lost"], tasks);
  const all = JSON.stringify(run) + server.log();
  const output = (name: string): Data => stepOf(run, name).output;
  expect(output("whole").request.uri).toBe("[secret hook]");
  expect(output("whole").content.text).toMatch(/^\[redacted\] /);
  expect(output("begun").content.text).toMatch(/^\[redacted\]\/items\/7 /);
  const details = run.steps.filter(({ name }: Data) => name === "note").map(({ output: note }: Data) => note.detail);
  expect(details).toEqual([
    "the address of the call is refused: only http and https can be called",
    expect.stringMatching(/^http:\/\/\[redacted\] has a name that/),
  ]);
  for (const part of ["/services/t0", token, query, encodeURIComponent(query), "planted-host", "planted-token"])
    expect(all.toLowerCase(), part).not.toContain(part.toLowerCase());
});

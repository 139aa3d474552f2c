/** The protocol's own conformance suite against `/mcp`: each of its scenarios for servers is run, or says here why it is not ours. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { agentOf } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

/** The suite's tools as agents; handles have no underscores. */
const TOOLS: Record<string, string> = {
  test_simple_text: `do: [{say: {set: '\${ "This is a simple text response for testing." }'}}]`,
  test_error_handling:
    "do: [{fail: {raise: {error: {type: 'https://example.org/broken', status: 500, title: Broken}}}}]",
  test_tool_with_progress: `do: [${["a", "b", "c", "d"].map((name) => `{${name}: {wait: PT0.6S}}`).join(", ")}]`,
};
const SCENARIOS = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-with-progress",
  "dns-rebinding-protection",
];
const CONTENT = "an agent answers JSON as text and as structured content, and no other kind of content";
const NO_REQUESTS =
  "clients that begin with initialize are sent no requests: list_approvals and decide_approval ask them";
const NONE = "there are tools alone";
const NO_SESSIONS = "there are no sessions, and no streams but that of a call";
const NOT_OURS: Record<string, string> = {
  "tools-call-image": CONTENT,
  "tools-call-audio": CONTENT,
  "tools-call-embedded-resource": CONTENT,
  "tools-call-mixed-content": CONTENT,
  "tools-call-with-logging": "a run is logged in its steps, for people",
  "logging-set-level": "a run is logged in its steps, for people",
  "tools-call-sampling": NO_REQUESTS,
  "tools-call-elicitation": NO_REQUESTS,
  "elicitation-sep1034-defaults": NO_REQUESTS,
  "elicitation-sep1330-enums": NO_REQUESTS,
  "json-schema-2020-12": "the form of an agent has no $defs",
  "server-sse-polling": NO_SESSIONS,
  "server-sse-multiple-streams": NO_SESSIONS,
  "completion-complete": NONE,
  "resources-list": NONE,
  "resources-read-text": NONE,
  "resources-read-binary": NONE,
  "resources-templates-read": NONE,
  "resources-subscribe": NONE,
  "resources-unsubscribe": NONE,
  "prompts-list": NONE,
  "prompts-get-simple": NONE,
  "prompts-get-with-args": NONE,
  "prompts-get-embedded-resource": NONE,
  "prompts-get-with-image": NONE,
};

let server: SharedServer;
let url: string;
/** Adds a key to what the suite sends, which knows none, and calls its tools by our names. */
const proxy = createServer((asked, response) => void forward(asked, response));
beforeAll(async () => {
  server = await sharedServer();
  await publish(server, "three");
  for (const [name, body] of Object.entries(TOOLS)) await agentOf(server, body, name.replaceAll("_", "-"));
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await server[Symbol.asyncDispose]();
});

const NAMED = new RegExp(`"name":"(${Object.keys(TOOLS).join("|")})"`, "g");

async function forward(asked: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await text(asked)).replace(NAMED, (_, name: string) => `"name":"test_${name.replaceAll("_", "-")}"`);
  const { "content-length": _length, ...given } = asked.headers;
  const headers = { ...given, authorization: `Bearer ${server.world.apiKey}` };
  const onward = send(`${server.url}${asked.url}`, { method: asked.method, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  onward.end(body);
}

const SUITE = path.join(import.meta.dirname, "../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const suite = (...given: string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...given], (_error, out, problems) => resolve(`${out}${problems}`));
  });

test.each(SCENARIOS)("%s", async (scenario) => {
  expect(await suite("server", "--url", url, "--scenario", scenario)).toMatch(
    /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/,
  );
});

test("each scenario for servers is run, or has its reason", async () => {
  const listed = (await suite("list")).split(/^Client scenarios/m)[0]!.matchAll(/^ {2}- (\S+)/gm);
  expect(new Set([...listed].map(([, name]) => name))).toEqual(new Set([...SCENARIOS, ...Object.keys(NOT_OURS)]));
});

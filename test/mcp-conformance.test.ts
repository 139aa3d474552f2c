/** The protocol's own conformance suite against `/mcp`: its scenarios that need no tools of its own. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let url: string;
/** Adds a key to what the suite sends, which knows none. */
const proxy = createServer((asked, response) => forward(asked, response));
beforeAll(async () => {
  server = await sharedServer();
  await publish(server, "three");
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await server[Symbol.asyncDispose]();
});

function forward(asked: IncomingMessage, response: ServerResponse): void {
  const headers = { ...asked.headers, authorization: `Bearer ${server.world.apiKey}` };
  const onward = send(`${server.url}${asked.url}`, { method: asked.method, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  asked.pipe(onward);
}

const SUITE = path.join(import.meta.dirname, "../node_modules/@modelcontextprotocol/conformance/dist/index.js");

test.each(["server-initialize", "ping", "tools-list", "dns-rebinding-protection"])("%s", async (scenario) => {
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [SUITE, "server", "--url", url, "--scenario", scenario], (_error, out, problems) =>
      resolve(`${out}${problems}`),
    );
  });
  expect(output).toMatch(/Passed: (\d+)\/\1, 0 failed, 0 warnings/);
});

/**
 * A bare server that answers every request with the one JSON text that it is given, in a process of its own.
 *
 *     node bench/fixed-answer.ts '{"a": 1}'
 *
 * It prints `{"url"}` when it listens.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const [body = "{}"] = process.argv.slice(2);
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
const server = createServer((request, response) => {
  request.resume().once("end", () => response.writeHead(200, headers).end(body));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));

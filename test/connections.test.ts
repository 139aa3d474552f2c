/** How many connections one address may have open, over real sockets: loopback has many addresses on Linux. */
import { once } from "node:events";
import net from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { eventually } from "./client.ts";
import { PROXY, sharedServer, type SharedServer } from "./shared-server.ts";

const MOST = LIMITS.strangerConnectionsPerAddress;
const AT_ONCE = 100;

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** In the order in which the server has them. */
async function openFrom(localAddress: string, count: number): Promise<{ all: net.Socket[] } & Disposable> {
  const all: net.Socket[] = [];
  for (let begun = 0; begun < count; begun += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - begun) }, () =>
      net.connect({ port: Number(new URL(server.url).port), host: "127.0.0.1", localAddress }).on("error", () => {}),
    );
    await Promise.all(some.map((socket) => once(socket.resume(), "connect")));
    all.push(...some);
  }
  return { all, [Symbol.dispose]: () => all.forEach((socket) => void socket.destroy()) };
}

/** Whether the server still answers on it. */
async function answers(socket: net.Socket): Promise<boolean> {
  if (socket.destroyed) return false;
  let got = "";
  socket.on("data", (chunk) => (got += String(chunk)));
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await eventually(() => got !== "" || socket.destroyed);
  return got.startsWith("HTTP/1.1 200 ");
}

const closed = ({ all }: { all: net.Socket[] }): number => all.filter((socket) => socket.destroyed).length;

test.runIf(process.platform === "linux")(
  "an address closes its own connections for more than its share, and nobody else's; a trusted proxy has no share",
  async () => {
    using other = await openFrom("127.0.0.2", 1);
    using flood = await openFrom("127.0.0.3", MOST);
    expect(await answers(flood.all[0]!)).toBe(true);
    using more = await openFrom("127.0.0.3", 10);
    await eventually(() => closed(flood) + closed(more) === 10);
    expect(await answers(more.all.at(-1)!)).toBe(true);
    using proxied = await openFrom(PROXY, MOST + 10);
    for (const socket of [proxied.all[0]!, proxied.all.at(-1)!, other.all[0]!])
      expect(await answers(socket)).toBe(true);
    expect([closed(proxied), closed(other), closed(flood) + closed(more)]).toEqual([0, 0, 10]);
  },
);

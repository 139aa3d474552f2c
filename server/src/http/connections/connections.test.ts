import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { limitConnections, mostConnections, type Connections } from "./connections.ts";

const [A, B, C, D] = ["a", "b", "c", "d"] as OrganizationId[];
const stack = new AsyncDisposableStack();
let opened = stack;
afterEach(() => opened.disposeAsync());

/** `open` answers the server's end and whether the client's is open. */
async function start(most: { strangers: number; callers: number }) {
  opened = new AsyncDisposableStack();
  const server = http.createServer();
  const connections: Connections = limitConnections(server, {
    strangers: { all: most.strangers, perAddress: 100 },
    callers: most.callers,
    isProxy: () => false,
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  opened.defer(() => (server.closeAllConnections(), void server.close()));
  const { port } = server.address() as AddressInfo;
  const open = async () => {
    const accepted = once(server, "connection") as Promise<[net.Socket]>;
    const client = net.connect(port, "127.0.0.1").on("error", () => {});
    opened.defer(() => void client.destroy());
    const [socket] = await accepted;
    let isOpen = true;
    const closed = once(client.resume(), "close").then(() => (isOpen = false));
    return { client, socket, closed, isOpen: () => isOpen };
  };
  return { connections, open };
}

test("of strangers' connections the one that is open longest gives way to the next; a caller's stays", async () => {
  const { connections, open } = await start({ strangers: 2, callers: 10 });
  const [first, second, third] = [await open(), await open(), await open()];
  await first.closed;
  connections.belongsTo(second.socket, A!);
  const [fourth, fifth] = [await open(), await open()];
  await third.closed;
  expect([second, fourth, fifth].map(({ isOpen }) => isOpen())).toEqual([true, true, true]);
});

test("a connection has 100 requests under way, and not one more until one is answered", async () => {
  const { connections, open } = await start({ strangers: 2, callers: 2 });
  const { socket } = await open();
  const begun = Array.from({ length: LIMITS.requestsPerConnection + 1 }, () => connections.begin(socket));
  expect([begun.indexOf(false), begun.length]).toEqual([
    LIMITS.requestsPerConnection,
    LIMITS.requestsPerConnection + 1,
  ]);
  connections.answered(socket);
  expect([connections.begin(socket), connections.begin(socket)]).toEqual([true, false]);
});

test("an organization has what stays free beside it, and gives back what it closes", async () => {
  const { connections, open } = await start({ strangers: 100, callers: 6 });
  const take = async (organizationId: OrganizationId) => {
    const one = await open();
    connections.belongsTo(one.socket, organizationId);
    return one;
  };
  const [one] = [await take(A!), await take(A!), await take(A!)];
  await expect(take(A!)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await take(B!);
  await expect(take(A!)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await take(C!);
  // The connection is its first caller's, however many it serves.
  connections.belongsTo(one.socket, C!);
  const gone = once(one.socket, "close");
  one.client.destroy();
  await gone;
  await take(D!);
});

test("where few files may be open strangers leave half of them, and an address an eighth", () => {
  expect(mostConnections(4_096)).toEqual({ strangers: { all: 2_048, perAddress: 512 }, callers: 4_096 });
  expect(mostConnections(1_048_576)).toEqual({ strangers: { all: 10_000, perAddress: 2_500 }, callers: 30_000 });
});

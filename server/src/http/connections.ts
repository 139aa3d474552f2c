/**
 * How many connections may be open. A connection whose caller nobody has seen is a stranger's: of those, the one open longest
 * gives way to the next. Of callers' connections each organization has a share, as in ByteBudget.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { Ending } from "../lib/ending.ts";
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";

export type Connections = {
  /** How many are open. */
  readonly open: { readonly strangers: number; readonly callers: number };
  /** A request of it is under way until it is answered. False when it has too many. */
  begin(request: IncomingMessage, response: ServerResponse): boolean;
  /** What is known of an open one. */
  of(socket: Duplex): Connection;
  /** The organization of its caller; a stranger's address. */
  whose(socket: Socket): string;
  /** Its caller is known. Throws UNAVAILABLE when the organization has too many. */
  belongsTo(socket: Duplex, organizationId: OrganizationId): void;
};

/** `endings`: of the requests that wait for an answer. */
export type Connection = { underWay: number; readonly endings: Ending[]; organizationId?: OrganizationId };

/** Nobody sees it. */
export const clientGone = (): Refusal => new Refusal("UNAVAILABLE", "the client has gone away");

type Most = { strangers: number; callers: number };

const tooMany = (): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `too many connections of this organization are open (of ${LIMITS.callerConnections} for all, as many as stay free beside its own): close some`,
    { retryAfter: 1 },
  );

export function limitConnections(
  server: Server,
  most: Most = { strangers: LIMITS.strangerConnections, callers: LIMITS.callerConnections },
): Connections {
  const strangers = new Set<Duplex>();
  const opened = new WeakMap<Duplex, Connection>();
  const budget = new ByteBudget(most.callers);
  let callers = 0;

  server.on("connection", (socket) => {
    strangers.add(socket);
    const connection: Connection = { underWay: 0, endings: [] };
    opened.set(socket, connection);
    socket.once("close", () => {
      strangers.delete(socket);
      for (const ending of connection.endings) ending.end(clientGone());
    });
    if (strangers.size > most.strangers) strangers.values().next().value!.destroy();
  });

  function answered(this: ServerResponse): void {
    opened.get(this.req.socket)!.underWay--;
  }

  return {
    get open() {
      return { strangers: strangers.size, callers };
    },
    begin: ({ socket }, response) => {
      const connection = opened.get(socket)!;
      if (connection.underWay >= LIMITS.requestsPerConnection) return false;
      connection.underWay++;
      // One function for all: a closure of each request, held by what Node keeps of it, lives until the next major collection.
      response.on("close", answered);
      return true;
    },
    of: (socket) => opened.get(socket)!,
    whose: (socket) => opened.get(socket)!.organizationId ?? socket.remoteAddress ?? "",
    belongsTo: (socket, organizationId) => {
      // Only once for each connection: it stays the first caller's.
      if (!strangers.has(socket)) return;
      if (!budget.tryTake(organizationId, 1)) throw tooMany();
      strangers.delete(socket);
      opened.get(socket)!.organizationId = organizationId;
      callers++;
      socket.once("close", () => {
        callers--;
        budget.give(organizationId, 1);
      });
    },
  };
}

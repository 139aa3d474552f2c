/**
 * How many connections may be open. One whose caller nobody has seen is a stranger's: of those the one that is open longest
 * gives way to the next. Of callers each organization has a share, in the manner of ByteBudget.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import { ByteBudget } from "../lib/byte-budget.ts";
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";

export type Connections = {
  /** A request of it is under way until it is answered. False when it has too many. */
  begin(request: IncomingMessage, response: ServerResponse): boolean;
  /** Its caller is known. Throws UNAVAILABLE when the organization has too many. */
  belongsTo(socket: Duplex, organizationId: OrganizationId): void;
};

type Most = { strangers: number; callers: number };

const tooMany = (): Refusal =>
  new Refusal("UNAVAILABLE", "too many connections of this organization are open: close some", { retryAfter: 1 });

export function limitConnections(
  server: Server,
  most: Most = { strangers: LIMITS.strangerConnections, callers: LIMITS.callerConnections },
): Connections {
  const strangers = new Set<Duplex>();
  const budget = new ByteBudget(most.callers);

  server.on("connection", (socket) => {
    strangers.add(socket);
    socket.once("close", () => void strangers.delete(socket));
    if (strangers.size > most.strangers) strangers.values().next().value!.destroy();
  });

  const underWay = new WeakMap<Duplex, number>();
  return {
    begin: ({ socket }, response) => {
      const count = underWay.get(socket) ?? 0;
      if (count >= LIMITS.requestsPerConnection) return false;
      underWay.set(socket, count + 1);
      response.on("close", () => underWay.set(socket, underWay.get(socket)! - 1));
      return true;
    },
    belongsTo: (socket, organizationId) => {
      // Once a connection: it stays the first caller's.
      if (!strangers.has(socket)) return;
      if (!budget.tryTake(organizationId, 1)) throw tooMany();
      strangers.delete(socket);
      socket.once("close", () => budget.give(organizationId, 1));
    },
  };
}

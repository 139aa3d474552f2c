/**
 * Limits the open connections. A connection is a stranger's until its caller is known; at the limit, one stranger's gives way to the
 * next (strangers.ts). Organizations share the connections of callers, as in FairShare.
 */
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import type { Known } from "../../auth/admission/authenticate.ts";
import { network } from "../../auth/sign-in/login-throttle.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import type { Ending } from "../../lib/ending.ts";
import { Refusal } from "../../lib/errors.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { openFilesMost } from "../../lib/open-files.ts";
import { Rounds } from "../../fairness/rounds.ts";
import { Strangers, type MostStrangers } from "./strangers.ts";

export type Connections = {
  /** How many are open. */
  readonly open: { readonly strangers: number; readonly callers: number };
  /** Counts a request of the connection until `answered`. False if too many are under way. */
  begin(socket: Duplex): boolean;
  answered(socket: Duplex): void;
  /** The state of an open connection. */
  of(socket: Duplex): Connection;
  /**
   * Calls `end` in its turn: it ends the subscriptions that a closed connection leaves behind. Ended at once, those of 600 connections
   * with 20 each held the thread for half a second, 2,000 event streams for 0.2 s.
   */
  endInTurn(socket: Duplex, end: () => void): void;
  /** Names the organization of its caller. Throws UNAVAILABLE if that has too many. */
  belongsTo(socket: Duplex, organizationId: OrganizationId): void;
};

/** `address`: of its client, an IPv6 /64 as one. `endings`: those of the requests that wait for an answer. */
export type Connection = {
  underWay: number;
  readonly address: string;
  /** It is a trusted proxy's, which sends requests of many clients. */
  readonly isProxy: boolean;
  readonly endings: Ending[];
  /** Its first caller's organization. */
  organizationId?: OrganizationId;
  /** The last credential that was found good. Requests of one connection may have several. */
  known?: Known;
};

/** The line of a stranger's request. `client`: the client's address, if a trusted proxy sends it. */
export const strangersLine = ({ isProxy, address }: Connection, client: () => string): string =>
  isProxy ? network(client()) : address;

/** Its request is answered. */
export function leave(endings: Ending[], ending: Ending): void {
  endings[endings.indexOf(ending)] = endings.at(-1)!;
  endings.pop();
}

/** Nobody sees it. */
export const clientGone = (): Refusal => new Refusal("UNAVAILABLE", "the client has gone away");

type Options = { strangers?: MostStrangers; callers?: number; isProxy: (address: string) => boolean };

/** Strangers may have half of the files that the process may open, one address an eighth: the others need the rest. */
export function mostConnections(files: number): { strangers: MostStrangers; callers: number } {
  const atMost = (limit: number, share: number): number => Math.min(limit, Math.floor(files * share));
  return {
    strangers: {
      all: atMost(LIMITS.strangerConnections, 1 / 2),
      perAddress: atMost(LIMITS.strangerConnectionsPerAddress, 1 / 8),
    },
    callers: atMost(LIMITS.callerConnections, 1),
  };
}

const tooMany = (most: number): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `too many connections of this organization are open (its share of the server's ${most} is used up): close some`,
    { retryAfter: 1 },
  );

/** `isProxy`: whether an address is a trusted proxy's, which speaks for many. */
export function limitConnections(server: Server, options: Options): Connections {
  const most = { ...mostConnections(openFilesMost()), ...options };
  const strangers = new Strangers(most.strangers);
  const opened = new WeakMap<Duplex, Connection>();
  const budget = new FairShare(most.callers);
  const leaving = new Rounds<string>(() => performance.now());

  /** Organizations take turns, and addresses of strangers. */
  const endInTurn: Connections["endInTurn"] = (socket, end) => {
    const { organizationId, address } = opened.get(socket)!;
    leaving.call(organizationId ?? address, end);
  };

  server.on("connection", (socket) => {
    const { remoteAddress = "" } = socket;
    const [address, isProxy] = [network(remoteAddress), options.isProxy(remoteAddress)];
    const connection: Connection = { underWay: 0, endings: [], address, isProxy };
    opened.set(socket, connection);
    socket.once("close", () => {
      strangers.delete(address, socket);
      if (connection.endings.length > 0)
        endInTurn(socket, () => {
          for (const ending of connection.endings) ending.end(clientGone());
        });
    });
    strangers.add(address, socket, isProxy);
  });

  return {
    endInTurn,
    get open() {
      return { strangers: strangers.size, callers: budget.taken };
    },
    begin: (socket) => {
      const connection = opened.get(socket)!;
      if (connection.underWay >= LIMITS.requestsPerConnection) return false;
      connection.underWay++;
      return true;
    },
    answered: (socket) => void opened.get(socket)!.underWay--,
    of: (socket) => opened.get(socket)!,
    belongsTo: (socket, organizationId) => {
      const connection = opened.get(socket)!;
      // Only once for each connection: it stays the first caller's.
      if (!strangers.has(connection.address, socket)) return;
      if (!budget.tryTake(organizationId, 1)) throw tooMany(most.callers);
      strangers.delete(connection.address, socket);
      connection.organizationId = organizationId;
      socket.once("close", () => budget.give(organizationId, 1));
    },
  };
}

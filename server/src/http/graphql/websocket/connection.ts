/** The state of one WebSocket. */
import type { Socket } from "node:net";
import type { Context } from "graphql-ws";
import type { WebSocket } from "ws";
import type { Caller } from "../../../auth/caller.ts";
import type { Graphql } from "../../../graphql/graphql.ts";
import type { Ending } from "../../../lib/ending.ts";
import type { Log } from "../../../lib/log/log.ts";
import type { Admission } from "../../admission/admission.ts";
import type { Connections } from "../../connections/connections.ts";
import type { Entrance } from "../../connections/entrance.ts";
import type { HeldBack, Readable } from "../../connections/held-back.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Held, Unanswered } from "./unanswered.ts";

/** Shared by all of them. */
export type WebSocketParts = {
  graphql: Graphql;
  admission: Admission;
  log: Log;
  entrance: Entrance;
  connections: Connections;
  heldBack: HeldBack;
  /** The process is about to end. */
  isLeaving: boolean;
};

type Operation = { ending: Ending; isStream: boolean };

export type Extra = {
  socket: WebSocket;
  /** Its connection. The request itself, with 16 kB of headers, is not kept. */
  stream: Socket;
  /** Itself, to be held back. */
  readable: Readable;
  /** The header, until `connection_init`. */
  authorization?: string | undefined;
  requestId: string;
  address: string;
  userAgent?: string | undefined;
  outgoing: Outgoing;
  unanswered: Unanswered;
  /** The charge of the message that graphql-ws is being given; undefined when there is no room for it. */
  held: Held | undefined;
  /** The operations under way by their ids, until their clients have all of their answers. */
  operations: Map<string, Operation>;
  caller?: Caller;
  watched?: Disposable;
};

export type Connection = Context<Record<string, unknown>, Extra>;

export const GOING_AWAY = 1001;
export const TRY_AGAIN_LATER = 1013;

const CLOSE_REASON_BYTES = 123;

/** Cut to what a close frame has room for. */
export function closeReason(text: string): string {
  let reason = text.slice(0, CLOSE_REASON_BYTES);
  while (Buffer.byteLength(reason) > CLOSE_REASON_BYTES) reason = reason.slice(0, -1);
  return reason;
}

/** Admission over a connection, for HTTP, Server-Sent Events and WebSocket alike. graphql/graphql.ts asks whether they may. */
import type { Duplex } from "node:stream";
import { callerNow, identify } from "../../auth/admission/admission.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import { lapsed } from "../../auth/bad-credential.ts";
import type { Caller } from "../../auth/caller.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import type { Connections } from "../connections/connections.ts";
import { createCredentialWatch, type CredentialWatch } from "./credential-watch.ts";

export type Admission = {
  /**
   * Who is asking. From then on the connection is their organization's. Throws UNAUTHENTICATED for a bad credential (RATE_LIMITED after too many from the client's address), UNAVAILABLE
   * when the organization has too many connections.
   */
  identify(
    socket: Duplex,
    authorization: string | undefined,
    address: () => string,
  ): Caller | undefined | Promise<Caller | undefined>;
  /** The caller of an open connection, for its next operation. Throws UNAUTHENTICATED when the credential has expired or was revoked. */
  again(caller: Caller): Promise<Caller>;
  /** From then on the connection is an organization's whose own credential was in the request's path. Throws as `identify` does. */
  assign(socket: Duplex, organizationId: OrganizationId): void;
} & CredentialWatch;

export function createAdmission(auth: Auth, connections: Connections): Admission {
  const watching = createCredentialWatch(auth);
  const seat = (socket: Duplex, authorization: string | undefined, caller: Caller | undefined): Caller | undefined => {
    if (!caller) return caller;
    const { organizationId } = caller;
    connections.belongsTo(socket, organizationId);
    const connection = connections.of(socket);
    if (authorization !== undefined && connection.known?.authorization !== authorization)
      connection.known = { authorization, caller };
    return caller;
  };
  return {
    identify: (socket, authorization, address) => {
      const caller = identify(auth, authorization, address, connections.of(socket).known);
      return caller instanceof Promise
        ? caller.then((known) => seat(socket, authorization, known))
        : seat(socket, authorization, caller);
    },
    again: async (caller) => {
      const now = await callerNow(auth, caller);
      if (!now) throw lapsed(caller.credential);
      if (now.credential.kind === "key") auth.keys.noteUse(now.organizationId, now.credential.keyId);
      return now;
    },
    assign: (socket, organizationId) => connections.belongsTo(socket, organizationId),
    watch: watching.watch,
    loop: watching.loop,
    [Symbol.asyncDispose]: () => watching[Symbol.asyncDispose](),
  };
}

/** Admits the caller of a WebSocket, and answers the operations that it sends. */
import { CloseCode } from "graphql-ws";
import type { Caller } from "../../../auth/caller.ts";
import type { Answer, Asking, Refused } from "../../../graphql/requests/request.ts";
import { Ending } from "../../../lib/ending.ts";
import { messageOf, Refusal, stopping } from "../../../lib/errors.ts";
import type { Json } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { noRoom } from "../../connections/arrivals.ts";
import { clientGone, strangersLine } from "../../connections/connections.ts";
import type { Line } from "../../connections/entrance.ts";
import { hasUrgentWord } from "../../connections/urgent.ts";
import { graphqlBody } from "../graphql-request.ts";
import {
  closeReason,
  GOING_AWAY,
  TRY_AGAIN_LATER,
  type Connection,
  type Extra,
  type WebSocketParts,
} from "./connection.ts";

/** Takes the credential from `connection_init`, or else from the header. Closes the connection if it is not good. */
export async function admitConnection({ admission, log }: WebSocketParts, connection: Connection): Promise<boolean> {
  const { extra, connectionParams } = connection;
  const parameter = connectionParams?.["Authorization"] ?? connectionParams?.["authorization"];
  const credential = typeof parameter === "string" ? parameter : extra.authorization;
  // graphql-ws would keep all of it as long as the connection is open.
  delete (connection as { connectionParams?: unknown }).connectionParams;
  delete extra.authorization;
  try {
    const caller = await admission.identify(extra.stream, credential, () => extra.address);
    if (!caller) return true;
    extra.caller = caller;
    extra.watched = admission.watch(caller, () => extra.socket.close(CloseCode.Forbidden, "Forbidden"));
  } catch (error) {
    if (error instanceof Refusal && (error.code === "UNAUTHENTICATED" || error.code === "RATE_LIMITED")) {
      // With 4403 clients would try again, and the person would see nothing.
      extra.socket.close(CloseCode.Unauthorized, closeReason(error.message));
      return true;
    }
    const { requestId } = extra;
    log.warn({ requestId, reason: messageOf(error) }, "a WebSocket's credential could not be checked");
    extra.socket.close(TRY_AGAIN_LATER, "Try again later");
  }
  return true;
}

/** Asked for each operation: the caller's rights may have changed since the connection began. */
function askingOf({ admission }: WebSocketParts, { caller }: Extra): Asking {
  let known: Promise<Caller> | undefined;
  return { caller: () => caller && (known ??= admission.again(caller)) };
}

/** Resolves when it is its turn: with the line that has too much, if only what is urgent may begin. */
function turnOf(
  { connections, entrance }: WebSocketParts,
  { caller, stream, address }: Extra,
  query: string,
): Promise<Line | undefined> {
  const line = (): Line =>
    caller
      ? { name: caller.organizationId, isStranger: false }
      : { name: strangersLine(connections.of(stream), () => address), isStranger: true };
  return new Promise((resolve) => entrance.enter({ line, mayBeUrgent: () => hasUrgentWord(query), go: resolve }));
}

/** Never throws. The operation is under way until `endOperation`. */
export async function answerOperation(
  parts: WebSocketParts,
  { extra, subscriptions }: Connection,
  id: string,
  payload: unknown,
): Promise<Answer> {
  const { graphql, heldBack } = parts;
  const ending = new Ending();
  const operation = { ending, isStream: false };
  const asking = askingOf(parts, extra);
  extra.operations.set(id, operation);
  try {
    if (parts.isLeaving) throw stopping();
    if (Object.keys(subscriptions).length > LIMITS.subscriptionsPerConnection) throw tooMany();
    const { held } = extra;
    if (!held) throw noRoom();
    const body = graphqlBody(payload as Json);
    const { requestId, address, userAgent } = extra;
    held.share();
    const tooMuchOf = await turnOf(parts, extra, body.query);
    const answer = await graphql.answer({
      ...body,
      origin: { requestId, address, userAgent },
      canStream: true,
      ending,
      urgentOnly: tooMuchOf !== undefined,
      release: () => held.release(),
      caller: asking.caller,
    });
    operation.isStream = answer.kind === "stream";
    if (parts.isLeaving) leaveIfIdle(extra);
    if (!tooMuchOf || answer.kind !== "refused" || answer.code !== "UNAVAILABLE") return answer;
    return retriedAfter(answer, heldBack.hold(tooMuchOf, extra.readable));
  } catch (error) {
    return graphql.refuse(error, asking, extra.requestId);
  }
}

export function endOperation(parts: WebSocketParts, { extra }: Connection, id: string, reason?: Refusal): void {
  const operation = extra.operations.get(id);
  extra.operations.delete(id);
  operation?.ending.end(reason);
  // The next message from graphql-ws is the end of the answer.
  if (parts.isLeaving) setImmediate(() => leaveIfIdle(extra));
}

/** Closes the connection once nothing of it waits for an answer. Subscribers connect again. */
export function leaveIfIdle({ socket, operations }: Extra): void {
  const all = [...operations.values()];
  if (!all.every(({ isStream }) => isStream)) return;
  socket.close(GOING_AWAY, "Going away");
  // A reader that takes nothing does not see the close for a while.
  for (const { ending } of all) ending.end(clientGone());
}

const tooMany = (): Refusal =>
  new Refusal("BAD_REQUEST", `a connection has at most ${LIMITS.subscriptionsPerConnection} operations at a time`);

/** `seconds`: when the connection is read again. */
function retriedAfter({ result, ...answer }: Refused, seconds: number): Refused {
  const errors = result.errors!.map((error) => ({
    ...error,
    extensions: { ...error.extensions, retryAfter: seconds },
  }));
  return { ...answer, result: { ...result, errors } };
}

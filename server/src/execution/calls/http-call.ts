/** One HTTP request behind the outbound guard, and what its answer is. */
import type { Http } from "../../definition/tasks/http.ts";
import type { CallArguments } from "../../definition/tasks/program-parts.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { essenceOf, isJson } from "../../lib/media-type.ts";
import { parseJson, type Json, type JsonObject } from "../../lib/json/json.ts";
import { inTurns } from "../../fairness/slices.ts";
import { textIn } from "../../outbound/body-text.ts";
import { isRedirect } from "../../outbound/redirect.ts";
import type { OutboundRequest, OutboundResponse } from "../../outbound/outbound.ts";
import type { EffectContext } from "../effect.ts";
import type { Frame } from "../frame.ts";
import { authenticationOf, type Authentication, type ReadSecrets } from "./authentication.ts";
import { createAuthorizer } from "./authorizer.ts";
import { oneSearchAtATime, type Calling } from "./calling.ts";
import { Credentials, headersIn, unhidden } from "./http-response.ts";
import { withFilledRequest, type FilledRequest } from "./fill-request.ts";
import { prepareKept, shownUrl } from "./prepare-request.ts";
import { refusedBy } from "./refused.ts";
import { encodeBody } from "./request-body.ts";
import { shownArguments, withoutReason } from "./secret-arguments.ts";
import { headersOf, send } from "./send.ts";

/** A call without its own timeout is given up after this long. */
export const TIMEOUT_MS = 60_000;

/** Throws WorkflowError. */
export type HttpCall = {
  readSecrets: ReadSecrets;
  /** `kept`: the request as it is kept and shown. */
  perform(kept: JsonObject, context: HttpContext): Promise<Json>;
};

type HttpContext = EffectContext & {
  /** Evaluated for each attempt: it may hold secrets and is never kept. */
  authentication: Authentication;
  /** The request with the secrets that its arguments name, evaluated likewise. */
  filled: FilledRequest | undefined;
  /** Time limit of each request. The task's own timeout also ends the call, by the signal. */
  timeoutMs: number;
};

/** The request as it is kept and shown. `place`: the JSON pointer to the arguments. Throws WorkflowError. */
export function preparedRequest(frame: Frame, written: CallArguments, place: string): JsonObject | Promise<JsonObject> {
  const values = shownArguments(frame, written);
  const prepare = (made: Json): JsonObject => prepareKept(made as JsonObject, frame.input, written, place);
  return values instanceof Promise ? values.then(prepare) : prepare(values);
}

/** One attempt, with the present values of the secrets that the call names. Throws WorkflowError. */
export function attemptRequest(
  call: HttpCall,
  frame: Frame,
  { body, place }: { body: Http; place: string },
  kept: JsonObject,
  context: EffectContext & { timeoutMs: number },
): Promise<Json> {
  const authentication = authenticationOf(frame, body.authentication, call.readSecrets);
  const { signal } = context;
  const perform = (found: Authentication): Promise<Json> =>
    withFilledRequest(frame, body, { place, secrets: found.secrets, signal, kept }, (filled) =>
      call.perform(kept, { ...context, authentication: found, filled }),
    );
  return authentication instanceof Promise ? authentication.then(perform) : perform(authentication);
}

export function createHttpCall({ outbound, readSecrets, tokens, concealing }: Calling): HttpCall {
  return {
    readSecrets,
    async perform(kept, context) {
      const { organizationId, signal, turn, filled } = context;
      const { policy, secrets } = context.authentication;
      const request = filled?.request ?? kept;
      const credentials = new Credentials(policy, secrets, filled?.made);
      const searching = oneSearchAtATime(concealing, organizationId, credentials);
      let output: Json = null;
      const taken = async (response: OutboundResponse): Promise<void> => {
        output = await searching(async () => {
          const shown = credentials.isEmpty ? unhidden(response) : await inTurns(credentials.shown(response), turn);
          context.answered(shown);
          if (!isSuccess(request, response))
            throw await refusedBy(response, { shown, credentials, turn, hint: hintOf(request, response) });
          return outputOf(filled ? { ...kept, endpoint: shownUrl(kept) } : kept, response, credentials, turn);
        });
        const saved = context.hold(output);
        if (saved) output = null;
        await saved;
      };
      const [method, url] = [request["method"] as string, request["endpoint"] as string];
      const hide = (text: string): void => credentials.hideToo(text);
      try {
        const authorizer = policy && createAuthorizer(policy, { tokens, organizationId, signal, method, url, hide });
        const sent = filled
          ? withoutReason(filled.place, () => outgoing(request, context))
          : outgoing(request, context);
        await send(outbound, { ...sent, taken }, authorizer);
      } catch (error) {
        throw await searching(() => inTurns(credentials.hideIn(error), turn));
      }
      return output;
    },
  };
}

/** The author's headers override ours. */
function outgoing(request: JsonObject, context: HttpContext): OutboundRequest {
  const headers = headersOf(request["headers"]);
  headers["idempotency-key"] ??= context.idempotencyKey;
  const body = encodeBody(request["body"], request["headers"]);
  if (body) headers["content-type"] ??= body.contentType;
  return {
    organizationId: context.organizationId,
    method: request["method"] as string,
    url: request["endpoint"] as string,
    headers,
    body: body?.text,
    confidential: context.filled?.confidential,
    redirect: request["redirect"] === true,
    signal: context.signal,
    turn: context.turn,
    timeoutMs: context.timeoutMs,
  };
}

/** Whether the standard counts it as success: 200 to 299, with `redirect: true` up to 399. A digest's redirect is an error: it was not followed. */
const isSuccess = (request: JsonObject, response: OutboundResponse): boolean =>
  response.status >= 200 &&
  (response.status < 300 || (request["redirect"] === true && response.status < 400 && !isRedirect(response)));

const hintOf = (request: JsonObject, response: OutboundResponse): string =>
  isRedirect(response) && request["redirect"] !== true ? " (set `redirect: true` to follow it)" : "";

/** Without the definition's secrets. */
async function outputOf(
  request: JsonObject,
  response: OutboundResponse,
  { concealer }: Credentials,
  turn: EffectContext["turn"],
): Promise<Json> {
  if (!concealer) return received(request, response);
  if (request["output"] !== "raw") return inTurns(concealer.json(received(request, response)), turn);
  return received(request, { ...response, body: await inTurns(concealer.bytes(response.body), turn) });
}

function received(request: JsonObject, response: OutboundResponse): Json {
  if (request["output"] === "raw") return Buffer.from(response.body).toString("base64");
  const content = contentOf(response);
  if (request["output"] !== "response") return content;
  const { method, endpoint, headers } = request;
  return {
    request: { method: method!, uri: endpoint!, headers: headers ?? {} },
    statusCode: response.status,
    headers: headersIn(response),
    content,
  };
}

/** JSON according to the media type, text otherwise, null if the body is empty. */
function contentOf(response: OutboundResponse): Json {
  if (response.body.byteLength === 0) return null;
  const text = textIn(response);
  if (!isJson(essenceOf(response.headers["content-type"]))) return text;
  try {
    return parseJson(text, "the answer");
  } catch (error) {
    throw WorkflowError.of("communication", (error as Error).message);
  }
}

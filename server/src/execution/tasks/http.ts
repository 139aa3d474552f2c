/** `call: http` (DSL reference "HTTP Call"): one request behind the outbound guard. */
import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { essenceOf, isJson } from "../../lib/media-type.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { inTurns } from "../../fairness/slices.ts";
import { Slots } from "../../fairness/slots.ts";
import { textIn } from "../../outbound/body-text.ts";
import { isRedirect } from "../../outbound/redirect.ts";
import type { Outbound, OutboundRequest, OutboundResponse } from "../../outbound/outbound.ts";
import { authenticationOf, type Authentication, type ReadSecrets } from "../calls/authentication.ts";
import { createAuthorizer, type Authorizer } from "../calls/authorizer.ts";
import { Credentials, headersIn, unhidden } from "../calls/http-response.ts";
import type { HttpResponse } from "../run/run.ts";
import { performEffect, type EffectContext } from "../effect.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type RunTask } from "../frame.ts";
import type { Tokens } from "../calls/oauth2-tokens.ts";
import { asWorkflowError } from "../calls/outbound-errors.ts";
import { prepareRequest } from "../calls/prepare-request.ts";
import { encodeBody } from "../calls/request-body.ts";

/** A call without its own timeout is given up after this long. */
const TIMEOUT_MS = 60_000;
const LONGEST_MS = LIMITS.callSeconds * 1_000;

/** Both throw WorkflowError. */
export type HttpCall = {
  prepare: typeof prepareRequest;
  readSecrets: ReadSecrets;
  perform(request: JsonObject, context: HttpContext): Promise<Json>;
};

type HttpContext = EffectContext & {
  /** Evaluated for each attempt: it may hold secrets and is never kept. */
  authentication: Authentication;
  /** Time limit of each request. The task's own timeout also ends the call, by the signal. */
  timeoutMs: number;
};

export const createRunHttp =
  (call: HttpCall): RunTask<BodyOf<"http">> =>
  async (frame, body) => {
    const { execution, input, step, variables } = frame;
    const output = await performEffect(frame, {
      prepare() {
        const values = evaluate(execution, body.arguments, input, variables, step);
        const place = `${frame.task.reference}/with`;
        const prepare = (made: Json): JsonObject => call.prepare(made as JsonObject, input, body.arguments, place);
        return values instanceof Promise ? values.then(prepare) : prepare(values);
      },
      perform(request, context) {
        const authentication = authenticationOf(frame, body.authentication, call.readSecrets);
        const timeoutMs = frame.task.timeout ? LONGEST_MS : TIMEOUT_MS;
        const perform = (found: Authentication): Promise<Json> =>
          call.perform(request, { ...context, authentication: found, timeoutMs });
        return authentication instanceof Promise ? authentication.then(perform) : perform(authentication);
      },
    });
    return complete(frame, output);
  };

type HttpCallOptions = { outbound: Outbound; readSecrets: ReadSecrets; tokens: Tokens };

/** Answers are searched for credentials one at a time per organization: a search may take 30 MB, and a thousand answers may come together. */
const createConcealing = (): Slots => new Slots(LIMITS.outboundCalls, 1 / LIMITS.outboundCalls);

export function createHttpCall({ outbound, readSecrets, tokens }: HttpCallOptions): HttpCall {
  const concealing = createConcealing();
  return {
    prepare: prepareRequest,
    readSecrets,
    async perform(request, context) {
      const { organizationId, signal, turn } = context;
      const { policy, secrets } = context.authentication;
      const credentials = new Credentials(policy, secrets);
      const searching = <Result>(work: () => Promise<Result>): Promise<Result> =>
        credentials.isEmpty ? work() : concealing.run(organizationId, () => work().finally(() => credentials.rest()));
      let output: Json = null;
      const taken = async (response: OutboundResponse): Promise<void> => {
        output = await searching(async () => {
          const shown = credentials.isEmpty ? unhidden(response) : await inTurns(credentials.shown(response), turn);
          context.answered(shown);
          if (!isSuccess(request, response)) throw await refusedBy(request, response, { shown, credentials, turn });
          return outputOf(request, response, credentials, turn);
        });
        const saved = context.hold(output);
        if (saved) output = null;
        await saved;
      };
      const [method, url] = [request["method"] as string, request["endpoint"] as string];
      const hide = (text: string): void => credentials.hideToo(text);
      try {
        const authorizer = policy && createAuthorizer(policy, { tokens, organizationId, signal, method, url, hide });
        await (authorizer
          ? sendAuthorized(outbound, request, context, authorizer, taken)
          : send(outbound, request, context, { redirect: request["redirect"] === true, taken }));
      } catch (error) {
        throw await searching(() => inTurns(credentials.hideIn(error), turn));
      }
      return output;
    },
  };
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

type Taken = NonNullable<OutboundRequest["taken"]>;

/** Sends the request as often as its authentication needs; the answers in between are dropped. */
async function sendAuthorized(
  outbound: Outbound,
  request: JsonObject,
  context: HttpContext,
  authorizer: Authorizer,
  taken: Taken,
): Promise<void> {
  const redirect = request["redirect"] === true && authorizer.followsRedirects;
  for (let isAgain = true; isAgain;) {
    const authorization = await authorizer.authorization();
    isAgain = false;
    await send(outbound, request, context, {
      ...(authorization !== undefined && { authorization }),
      redirect,
      taken: async (response) => {
        isAgain = authorizer.wantsAnother(response);
        if (!isAgain) await taken(response);
      },
    });
  }
}

function send(
  outbound: Outbound,
  request: JsonObject,
  context: HttpContext,
  { authorization, redirect, taken }: { authorization?: string; redirect: boolean; taken: Taken },
): Promise<unknown> {
  const method = request["method"] as string;
  const headers = headersOf(request["headers"]);
  headers["idempotency-key"] ??= context.idempotencyKey;
  const body = encodeBody(request["body"], request["headers"]);
  if (body) headers["content-type"] ??= body.contentType;
  if (authorization !== undefined) headers["authorization"] = authorization;
  const sent = outbound.request({
    organizationId: context.organizationId,
    method,
    url: request["endpoint"] as string,
    headers,
    body: body?.text,
    redirect,
    signal: context.signal,
    turn: context.turn,
    timeoutMs: context.timeoutMs,
    taken,
  });
  return sent.catch((error: unknown) => {
    throw asWorkflowError(error);
  });
}

/** Names in lower case, so that the author's headers override ours. */
function headersOf(given: Json | undefined): Record<string, string> {
  const entries = isObject(given) ? Object.entries(given) : [];
  // By `fromEntries`: a header named __proto__ would otherwise be lost.
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), textOf(value)]));
}

/** Whether the standard counts it as success: 200 to 299, with `redirect: true` up to 399. A digest's redirect is an error: it was not followed. */
const isSuccess = (request: JsonObject, response: OutboundResponse): boolean =>
  response.status >= 200 &&
  (response.status < 300 || (request["redirect"] === true && response.status < 400 && !isRedirect(response)));

/** The standard's error of any other answer: `communication` with the answer's status. */
async function refusedBy(
  request: JsonObject,
  response: OutboundResponse,
  { shown, credentials, turn }: { shown: HttpResponse; credentials: Credentials; turn: EffectContext["turn"] },
): Promise<WorkflowError> {
  const { host } = new URL(response.url);
  const body = shown.body?.slice(0, 500).toWellFormed();
  const hint = isRedirect(response) && request["redirect"] !== true ? " (set `redirect: true` to follow it)" : "";
  const statusText = await inTurns(credentials.hide(response.statusText), turn);
  const answered = `${host} answered ${response.status} ${statusText}`.trim() + hint;
  const error = WorkflowError.of("communication", body ? `${answered}: ${body}` : answered, response.status);
  return error.answeredBy(await inTurns(credentials.inError(response), turn));
}

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

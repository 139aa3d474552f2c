/** Makes of an MCP server's answer the task's output, or an error of the language. */
import { WorkflowError, type ErrorResponse } from "../../../definition/workflow-error.ts";
import { inTurns } from "../../../fairness/slices.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { ERRORS } from "../../../lib/mcp/protocol.ts";
import { essenceOf } from "../../../lib/media-type.ts";
import type { OutboundResponse } from "../../../outbound/outbound.ts";
import type { HttpResponse } from "../../run/run.ts";
import type { Credentials } from "../http-response.ts";
import { refusedBy } from "../refused.ts";
import type { Answer } from "./conversation.ts";
import type { RpcError } from "./reply.ts";

type Hiding = { credentials: Credentials; turn: () => Promise<void> | undefined };

/** The length of a text of the server that an error repeats, and of a word or a code of the protocol. */
const SHOWN_CHARACTERS = 500;
const WORD_CHARACTERS = 40;

/** Throws WorkflowError: `tool` if the tool itself failed, unless the author takes that as the output. */
export async function outputOf(
  { from, response }: Answer,
  { resultType = "complete", ...result }: JsonObject,
  { takesErrors, ...hiding }: Hiding & { takesErrors: boolean },
): Promise<Json> {
  if (resultType === "input_required")
    throw WorkflowError.of("communication", `${from} asks for input before it answers, which a run can't give`);
  if (resultType !== "complete") {
    const type = await shownWord(resultType, hiding);
    throw WorkflowError.of("communication", `${from} answered with a result of type ${type}, which can't be read`);
  }
  if (result["isError"] === true && !takesErrors) throw await failureOf(from, response, result, hiding);
  const { concealer } = hiding.credentials;
  return concealer ? inTurns(concealer.json(result), hiding.turn) : result;
}

async function failureOf(
  from: string,
  response: OutboundResponse,
  result: JsonObject,
  hiding: Hiding,
): Promise<WorkflowError> {
  const { content } = result;
  const texts = (Array.isArray(content) ? content : []).flatMap((part) =>
    isObject(part) && typeof part["text"] === "string" ? [part["text"]] : [],
  );
  const said = await shownText(texts.join("\n"), hiding);
  const detail = `the tool failed at ${from}${said === "" ? "" : `: ${said}`}`;
  return WorkflowError.of("tool", detail).answeredBy(await answerOf(response, result, hiding));
}

/** `shown`: the answer as people see it. */
export async function refusalIn(
  { from, response, reply: { error } }: Answer,
  { shown, ...hiding }: Hiding & { shown: HttpResponse },
): Promise<WorkflowError> {
  if (error) return refusalOf(from, response, error, hiding);
  if (response.status > 299) return refusedBy(response, { shown, ...hiding });
  const type = await shownText(essenceOf(response.headers["content-type"]), hiding, WORD_CHARACTERS);
  const what = response.body.length === 0 ? "nothing" : `${type === "" ? "something" : type} without an answer to it`;
  const detail = `${from} did not answer as an MCP server: it sent ${what}`;
  return WorkflowError.of("communication", detail).answeredBy(
    await inTurns(hiding.credentials.inError(response), hiding.turn),
  );
}

/** Parameters that the server does not take are the author's mistake; anything else is the server's. */
async function refusalOf(
  from: string,
  response: OutboundResponse,
  error: RpcError,
  hiding: Hiding,
): Promise<WorkflowError> {
  const { code, message, data } = error;
  const said = await shownText(message, hiding);
  const detail = `${from} answered with the error ${await shownWord(code, hiding)}: ${said}`;
  const refusal =
    code === ERRORS.invalidParams
      ? WorkflowError.of("validation", detail)
      : WorkflowError.of("communication", detail, response.status > 399 ? response.status : undefined);
  return refusal.answeredBy(await answerOf(response, { code, message, data }, hiding));
}

/** Searched whole and then cut: the beginning of a credential may be too short to be recognised. */
async function shownText(text: string, { credentials, turn }: Hiding, most = SHOWN_CHARACTERS): Promise<string> {
  const shown = await inTurns(credentials.hide(text), turn);
  return shown.slice(0, most).toWellFormed();
}

/** As JSON: a hostile server may send an object where a word belongs. */
export const shownWord = (value: Json, hiding: Hiding): Promise<string> =>
  shownText(JSON.stringify(value), hiding, WORD_CHARACTERS);

/** The part that matters as `$error.response.body`, whether it came as JSON or in a stream. */
function answerOf(response: OutboundResponse, part: JsonObject, { credentials, turn }: Hiding): Promise<ErrorResponse> {
  const headers = { ...response.headers, "content-type": "application/json" };
  return inTurns(credentials.inError({ ...response, headers, body: Buffer.from(JSON.stringify(part)) }), turn);
}

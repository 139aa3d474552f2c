/**
 * The conversation with an MCP server. A server of 2026-07-28 answers the request itself. An older one refuses it with 4xx
 * before it does anything; then a session is begun, the request is sent in it, and the session is ended.
 */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { ERRORS, STATELESS, WITH_INITIALIZE } from "../../../lib/mcp/protocol.ts";
import type { OutboundResponse } from "../../../outbound/outbound.ts";
import {
  endOf,
  initialize,
  initialized,
  messageInSession,
  statelessMessage,
  type Asked,
  type Message,
  type Session,
} from "./message.ts";
import { parameterHeaders } from "./parameter-headers.ts";
import type { Reply } from "./reply.ts";

/** `from`: the server, as errors name it. */
export type Answer = { from: string; response: OutboundResponse; reply: Reply };

/** The way to one server. All reject with WorkflowError. */
export type Line = {
  /** Those in which a session may be, the newest first. */
  revisions: readonly string[];
  /** `taken` is called with the answer, which is held in memory until it resolves. */
  post(message: Message, taken: (answer: Answer) => Promise<void>): Promise<void>;
  /** The result becomes the task's output. */
  conclude(answer: Answer, result: JsonObject): Promise<void>;
  /** The error of an answer that has no result. */
  refusal(answer: Answer): Promise<WorkflowError>;
  /** A word of the server's as an error may repeat it. */
  shownWord(value: Json): Promise<string>;
};

/**
 * Begins with a command. An older one may end at any request before `initialize`; a newer one refuses just that. Returns undefined
 * if it needs no session.
 */
export async function beginWithCommand(
  line: Line,
  asked: Asked,
  revision: string | undefined,
): Promise<Session | undefined> {
  const session = revision === STATELESS ? undefined : await openSession(line, asked, revision);
  if (!(session instanceof WorkflowError)) {
    if (session) await begin(line, session);
    return session;
  }
  if (revision !== undefined) throw session;
  return undefined;
}

/** `session`: what `beginWithCommand` returned for it. */
export async function askCommand(line: Line, asked: Asked, session: Session | undefined): Promise<void> {
  if (session) await askBegun(line, asked, session);
  else await converseStateless(line, asked, false);
}

/** `revision`: the only one to speak. */
export async function converse(line: Line, asked: Asked, revision: string | undefined): Promise<void> {
  if (revision !== undefined && revision !== STATELESS) return converseInSession(line, asked, revision);
  const refusal = await converseStateless(line, asked, revision === undefined);
  if (refusal) await converseInSession(line, asked, undefined, refusal);
}

/** Returns the refusal of a server that is older, if one may be. */
async function converseStateless(line: Line, asked: Asked, mayBeOlder: boolean): Promise<WorkflowError | undefined> {
  let refusal: WorkflowError | undefined;
  let headers: Record<string, string> | undefined;
  for (let isOver = false; !isOver;) {
    isOver = true;
    await line.post(statelessMessage(asked, headers), async (answer) => {
      const { result, error } = answer.reply;
      if (result) return line.conclude(answer, result);
      isOver = headers !== undefined || asked.method !== "tools/call" || error?.code !== ERRORS.headerMismatch;
      if (!isOver) return;
      refusal = await line.refusal(answer);
      if (!mayBeOlder || !isOlder(answer)) throw refusal;
    });
    if (!isOver) headers = await headersOfTool(line, asked);
  }
  return refusal;
}

/** A server of 2026-07-28 refuses by these before it does anything else; an internal error may come from within. */
const STATELESS_ERRORS: ReadonlySet<Json> = new Set([ERRORS.headerMismatch, ERRORS.missingCapability, ERRORS.internal]);
/** These say nothing about the revision. */
const OF_ANY_SERVER: ReadonlySet<number> = new Set([401, 403, 407, 408, 413, 429, 431]);

function isOlder({ response: { status }, reply: { error } }: Answer): boolean {
  if (error?.code === ERRORS.unsupportedVersion) return speaksOlder(error.data);
  if (status < 400 || status > 499 || OF_ANY_SERVER.has(status)) return false;
  const isUnknownMethod = status === 404 && error?.code === ERRORS.methodNotFound;
  return !isUnknownMethod && !STATELESS_ERRORS.has(error?.code ?? null);
}

function speaksOlder(data: Json): boolean {
  const supported = isObject(data) ? data["supported"] : undefined;
  return Array.isArray(supported) && WITH_INITIALIZE.some((revision) => supported.includes(revision));
}

/** Looks for the tool page by page. */
async function headersOfTool(line: Line, asked: Asked): Promise<Record<string, string>> {
  let page: Page = {};
  for (let read = 0; read < LIMITS.mcpPagesOfTools; read++) {
    page = await readPage(line, asked, page.next);
    if (page.headers || page.next === undefined) break;
  }
  return page.headers ?? {};
}

/** A page of tools; `headers` if the tool is on it, `next` if another page follows. */
type Page = { headers?: Record<string, string>; next?: string | undefined };

/** A cursor is held while the next page is waited for, and its answer no longer is. */
const isCursor = (next: Json | undefined): next is string =>
  typeof next === "string" && next.length <= LIMITS.mcpCursorCharacters;

async function readPage(line: Line, { parameters, ...asked }: Asked, cursor: string | undefined): Promise<Page> {
  let page: Page = {};
  const list = { ...asked, method: "tools/list", parameters: cursor === undefined ? {} : { cursor } };
  await line.post(statelessMessage(list), async (answer) => {
    const { result } = answer.reply;
    if (!result) throw await line.refusal(answer);
    const { tools, nextCursor } = result;
    const isMeant = (tool: Json): boolean => isObject(tool) && tool["name"] === parameters["name"];
    const tool = Array.isArray(tools) ? (tools.find(isMeant) as JsonObject | undefined) : undefined;
    page = tool
      ? { headers: parameterHeaders(tool["inputSchema"], parameters["arguments"]) }
      : isCursor(nextCursor)
        ? { next: nextCursor }
        : {};
  });
  return page;
}

/** `refusal`: of the stateless request, which says more than that of `initialize`. */
async function converseInSession(
  line: Line,
  asked: Asked,
  revision: string | undefined,
  refusal?: WorkflowError,
): Promise<void> {
  const session = await openSession(line, asked, revision, refusal);
  if (session instanceof WorkflowError) throw session;
  await askInSession(line, asked, session);
}

/** Returns the error of a server that refuses to: `refusal`, or its own. */
async function openSession(
  line: Line,
  asked: Asked,
  revision: string | undefined,
  refusal?: WorkflowError,
): Promise<Session | WorkflowError> {
  let session: Session | WorkflowError | undefined;
  await line.post(initialize(asked, revision), async (answer) => {
    const { result } = answer.reply;
    session = result
      ? { revision: await revisionIn(result, revision, line), id: sessionIdIn(answer) }
      : (refusal ?? (await line.refusal(answer)));
  });
  return session!;
}

async function askInSession(line: Line, asked: Asked, session: Session): Promise<void> {
  try {
    await begin(line, session);
    await askBegun(line, asked, session);
  } catch (error) {
    // A run that was cancelled or timed out does not wait for this.
    void end(line, session);
    throw error;
  }
  await end(line, session);
}

const begin = (line: Line, session: Session): Promise<void> =>
  line.post(initialized(session), async (answer) => {
    if (answer.response.status > 299) throw await line.refusal(answer);
  });

const askBegun = (line: Line, asked: Asked, session: Session): Promise<void> =>
  line.post(messageInSession(asked, session), async (answer) => {
    const { result } = answer.reply;
    if (!result) throw await line.refusal(answer);
    await line.conclude(answer, result);
  });

/** Without an id there is nothing to end. A server may refuse to. */
async function end(line: Line, session: Session): Promise<void> {
  if (session.id !== undefined) await line.post(endOf(session), async () => {}).catch(() => {});
}

/** The characters that the standard allows. */
const SESSION_ID = /^[\x21-\x7e]+$/;

function sessionIdIn({ response: { headers } }: Answer): string | undefined {
  const id = headers["mcp-session-id"];
  if (id === undefined || SESSION_ID.test(id)) return id;
  throw WorkflowError.of(
    "communication",
    "the server gave its session an id that can't be sent back: it has other characters than the visible ones of ASCII",
  );
}

async function revisionIn({ protocolVersion }: JsonObject, wanted: string | undefined, line: Line): Promise<string> {
  const known = wanted === undefined ? line.revisions : [wanted];
  const spoken = known.find((revision) => revision === protocolVersion);
  if (spoken !== undefined) return spoken;
  const given = await line.shownWord(protocolVersion ?? null);
  throw WorkflowError.of(
    "communication",
    `the server speaks the revision ${given} of MCP, and this call ${known.join(" or ")}`,
  );
}

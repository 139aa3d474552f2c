/** Finds the operation that a `call: openapi` names: as its version has pinned it, or in the document, which then pins it. */
import { hash } from "node:crypto";
import path from "node:path";
import { DocumentProblem, type ApiOperation, type ApiOperationName } from "../../../definition/openapi/operation.ts";
import { readOperation } from "../../../definition/openapi/read-operation.ts";
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { FairCache } from "../../../fairness/fair-cache.ts";
import { inTurns } from "../../../fairness/slices.ts";
import { unlessAborted } from "../../../lib/abort.ts";
import type { OrganizationId } from "../../../lib/ids.ts";
import { isObject, parseStored, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { OutboundResponse } from "../../../outbound/outbound.ts";
import { FairThreads } from "../../../threads/fair-threads.ts";
import type { ThreadKind } from "../../../threads/timed-thread.ts";
import type { Frame } from "../../frame.ts";
import type { Authentication } from "../authentication.ts";
import { createAuthorizer } from "../authorizer.ts";
import { oneSearchAtATime, type Calling } from "../calling.ts";
import { Credentials } from "../http-response.ts";
import type { FilledRequest } from "../fill-request.ts";
import { send } from "../send.ts";
import type { DocumentJob, DocumentReply } from "./document-worker.ts";

/** `withAccess`: called if the document is fetched. Rejects with WorkflowError. */
export type FindOperation = (frame: Frame, name: ApiOperationName, withAccess: WithAccess) => Promise<ApiOperation>;

/** Calls `work` with what the request for a document needs. */
export type WithAccess = <Result>(signal: AbortSignal, work: (access: Access) => Promise<Result>) => Promise<Result>;

/** `filled`: the request, if its address names a secret. */
type Access = { authentication: Authentication; filled: FilledRequest | undefined };
type Read = { operation: string; documentHash: string };

type Kept = { operation: ApiOperation; characters: number };
/** A search in which several runs share. */
type Search = { found: Promise<Kept>; ending: AbortController; waiting: number };

/** Reads documents, one at a time for all: organizations take turns. */
const DOCUMENT_THREAD: ThreadKind = {
  name: "the reader of OpenAPI documents",
  /** Relative to this file, which is .ts in the source and .js when built. */
  worker: new URL(`./document-worker${path.extname(import.meta.filename)}`, import.meta.url),
  settings: {},
  // The largest document in YAML takes 300 MB.
  resourceLimits: { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32 },
};
const READ_MS = LIMITS.openapiReadSeconds * 1_000;
const FETCH_MS = LIMITS.openapiFetchSeconds * 1_000;
const ACCEPT = "application/json, application/yaml;q=0.9, text/yaml;q=0.8, */*;q=0.5";

export class ApiOperations implements AsyncDisposable {
  readonly #calling: Calling;
  readonly #kept = new FairCache<Kept>(LIMITS.openapiKeptCharacters, ({ characters }) => characters);
  readonly #searches = new Map<string, Search>();
  readonly #readMs: number;
  readonly #threads: FairThreads<DocumentJob, DocumentReply>;

  /** `readMs`: processor time for a document. */
  constructor(calling: Calling, readMs = READ_MS) {
    this.#calling = calling;
    this.#readMs = readMs;
    const one = { threads: 1, mostShare: 1 };
    // None is tried a second time.
    this.#threads = new FairThreads({ kind: DOCUMENT_THREAD, quick: one, quickMs: readMs, long: one });
  }

  readonly find: FindOperation = async (frame, name, withAccess) => {
    const { organizationId, agentId, version } = frame.execution.journal.head;
    const key = JSON.stringify([agentId, version, name.document, name.operationId]);
    const kept = this.#kept.get(organizationId, key);
    if (kept) return kept.operation;
    const search = this.#searches.get(key) ?? this.#begin(key, frame, name, withAccess);
    search.waiting++;
    try {
      return (await unlessAborted(search.found, frame.scope.signal)).operation;
    } finally {
      if (--search.waiting === 0) {
        // The next run begins another search: this one is about to fail.
        this.#forget(key, search);
        search.ending.abort(new Error("nobody waits for the document any longer"));
      }
    }
  };

  #forget(key: string, search: Search): void {
    if (this.#searches.get(key) === search) this.#searches.delete(key);
  }

  #begin(key: string, frame: Frame, name: ApiOperationName, withAccess: WithAccess): Search {
    const { organizationId } = frame.execution.journal.head;
    const ending = new AbortController();
    const found = this.#search(frame, name, withAccess, ending.signal)
      .then((kept) => {
        this.#kept.set(organizationId, key, kept);
        return kept;
      })
      .finally(() => this.#forget(key, search));
    // The error reaches those who wait, if there still are any.
    found.catch(() => {});
    const search: Search = { found, ending, waiting: 0 };
    this.#searches.set(key, search);
    return search;
  }

  async #search(frame: Frame, name: ApiOperationName, withAccess: WithAccess, signal: AbortSignal): Promise<Kept> {
    const { shared, journal } = frame.execution;
    const { surroundings } = shared;
    let text = await surroundings.readOperation(journal.head, name);
    if (text === undefined) {
      signal.throwIfAborted();
      const read = await withAccess(signal, (access) => this.#read(frame, name, access, signal));
      text = await surroundings.pinOperation(journal.head, name, read);
    }
    return { operation: parseStored(text) as unknown as ApiOperation, characters: text.length };
  }

  async #read(
    { execution }: Frame,
    { document, operationId }: ApiOperationName,
    { authentication: { policy, secrets }, filled }: Access,
    signal: AbortSignal,
  ): Promise<Read> {
    const { organizationId } = execution.journal.head;
    const { outbound, tokens, concealing } = this.#calling;
    const turn = (): Promise<void> | undefined => execution.turn();
    const url = filled ? (filled.request["endpoint"] as string) : document;
    const credentials = new Credentials(policy, secrets, filled?.made);
    const searching = oneSearchAtATime(concealing, organizationId, credentials);
    let read: Read | undefined;
    const taken = async (response: OutboundResponse): Promise<void> => {
      const operation = await this.#operationIn(response, operationId, { organizationId, signal });
      const { concealer } = credentials;
      const shown = concealer ? await searching(() => inTurns(concealer.json(operation), turn)) : operation;
      // A relative one has the document's address.
      if (filled && serverIn(shown) !== serverIn(operation))
        throw unread(new URL(response.url).host, "has a server whose URL has a secret");
      read = { operation: JSON.stringify(shown), documentHash: hash("sha256", response.body, "hex") };
    };
    const hide = (text: string): void => credentials.hideToo(text);
    const confidential = filled?.confidential;
    const headers = { accept: ACCEPT };
    const request = { organizationId, method: "GET", url, headers, confidential, redirect: true, signal, turn };
    const limits = { timeoutMs: FETCH_MS, mostBytes: LIMITS.openapiDocumentBytes };
    try {
      const sending = { tokens, organizationId, signal, method: "GET", url, hide };
      await send(outbound, { ...request, ...limits, taken }, policy && createAuthorizer(policy, sending));
    } catch (error) {
      throw await searching(() => inTurns(credentials.hideIn(error), turn));
    }
    return read!;
  }

  async #operationIn(
    { status, body, url }: OutboundResponse,
    operationId: string,
    { organizationId, signal }: { organizationId: OrganizationId; signal: AbortSignal },
  ): Promise<Json> {
    const { host } = new URL(url);
    if (status < 200 || status >= 300)
      throw WorkflowError.of("communication", `${host} answered ${status} instead of the OpenAPI document`, status);
    const outcome = await this.#threads.run({
      organizationId,
      key: url,
      limitMs: this.#readMs,
      make: () => ({ bytes: body, operationId, url }),
      signal,
    });
    if (outcome.is === "late") throw unread(host, `takes more than ${LIMITS.openapiReadSeconds} s to read`);
    if (outcome.is !== "reply") {
      signal.throwIfAborted();
      if (outcome.is === "broke") throw unread(host, "takes too much memory to read");
      throw new Error(outcome.message);
    }
    if ("problem" in outcome.reply) throw unread(host, outcome.reply.problem);
    return outcome.reply.operation as unknown as Json;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#threads[Symbol.asyncDispose]();
  }
}

const serverIn = (operation: Json): string => (operation as unknown as ApiOperation).server.url;

const unread = (host: string, problem: string): WorkflowError =>
  WorkflowError.of("configuration", `the OpenAPI document from ${host} ${problem}, so nothing was sent`);

/** In a document that the definition has. Throws WorkflowError. */
export function operationInline(document: JsonObject, operationId: string, place: string): ApiOperation {
  try {
    return readOperation(document, operationId);
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    throw WorkflowError.of("configuration", `the OpenAPI document in ${place} ${error.message}, so nothing was sent`);
  }
}

/** Throws WorkflowError. */
export function parametersIn(values: JsonObject, place: string): JsonObject {
  const { parameters = null } = values;
  if (parameters === null) return {};
  if (isObject(parameters)) return parameters;
  throw WorkflowError.of("expression", `${place} is not an object, so nothing was sent`);
}

/** The body of POST /graphql (GraphQL over HTTP). */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { checkContentType, parseJsonBody, type Taken } from "../body-format.ts";
import { HttpRefusal } from "../http-refusal.ts";

type GraphqlBody = { query: string; operationName: string | undefined; variables: Record<string, Json> };

const badRequest = (message: string): Refusal => new Refusal("BAD_REQUEST", message);

/**
 * Clients that send only the hash of a query (Apollo's automatic persisted queries) know this word: they send the query again with
 * its text, and no hashes from then on.
 */
export const NOT_PERSISTED = "PersistedQueryNotSupported";

export const isHashAlone = ({ query, extensions }: JsonObject): boolean =>
  (query == null || query === "") && isObject(extensions) && isObject(extensions["persistedQuery"]);

/** Throws BAD_REQUEST, or PERSISTED_QUERY_NOT_SUPPORTED for a hash without its query. Also for the payload of a WebSocket's `subscribe`. */
export function graphqlBody(value: Json): GraphqlBody {
  if (Array.isArray(value)) throw badRequest("one operation a request: a list of them is not taken");
  if (!isObject(value)) throw badRequest("the request body must be a JSON object");
  const { query, operationName, variables, extensions } = value;
  if (isHashAlone(value)) throw new Refusal("PERSISTED_QUERY_NOT_SUPPORTED", NOT_PERSISTED);
  if (typeof query !== "string") throw badRequest("query must be a string");
  if (operationName != null && typeof operationName !== "string") throw badRequest("operationName must be a string");
  if (variables != null && !isObject(variables)) throw badRequest("variables must be an object");
  // A hash beside a query is not read.
  if (extensions != null && !isObject(extensions)) throw badRequest("extensions must be an object");
  return { query, operationName: operationName ?? undefined, variables: variables ?? {} };
}

export const parseBody = (text: string): GraphqlBody => graphqlBody(parseJsonBody(text));

/** The one type of GraphQL over HTTP; a browser asks before it sends it to another site. */
const GRAPHQL: Taken = { isTaken: (essence) => essence === "application/json", wanted: "application/json" };

/** Throws HttpRefusal, as far as the head tells. */
export function checkHead(request: IncomingMessage): void {
  const { method, headers } = request;
  if (method === "GET" && asksForPersisted(request))
    throw new HttpRefusal(405, NOT_PERSISTED, { allow: "POST" }, "PERSISTED_QUERY_NOT_SUPPORTED");
  if (method !== "POST") throw new HttpRefusal(405, "send GraphQL operations by POST", { allow: "POST" });
  if (headers["content-type"] !== "application/json" || headers["content-encoding"] !== undefined)
    checkContentType(headers, GRAPHQL);
}

/** Clients send hashes by GET, so that caches can keep the answers. */
const asksForPersisted = ({ url = "" }: IncomingMessage): boolean =>
  url.split(/[?&]/).some((part) => part.startsWith("extensions=") && part.includes("persistedQuery"));

export type MediaType = "application/json" | "application/graphql-response+json" | "text/event-stream";

/** The first media type in the Accept header that the server has; without one, application/json. */
export function mediaTypeOf({ headers: { accept } }: IncomingMessage): MediaType {
  if (accept === undefined || accept === "*/*") return "application/json";
  const match = /application\/(?:graphql-response\+)?json|text\/event-stream/i.exec(accept);
  return (match?.[0].toLowerCase() as MediaType | undefined) ?? "application/json";
}

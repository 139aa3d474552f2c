/** What a body of POST /graphql must be (GraphQL over HTTP). */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../../lib/json/json.ts";

type GraphqlBody = { query: string; operationName: string | undefined; variables: Record<string, Json> };

const badRequest = (message: string): Refusal => new Refusal("BAD_REQUEST", message);

/**
 * Clients that send the hash of a query alone (Apollo's automatic persisted queries) know this word: they send the query again with
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
  // Of those that come with a query none is read.
  if (extensions != null && !isObject(extensions)) throw badRequest("extensions must be an object");
  return { query, operationName: operationName ?? undefined, variables: variables ?? {} };
}

export const parseBody = (text: string): GraphqlBody => graphqlBody(parseJsonBody(text));

/** Throws BAD_REQUEST. */
export function parseJsonBody(text: string): Json {
  try {
    return parseJson(text, "the request body");
  } catch (error) {
    throw error instanceof Refusal ? badRequest(error.message) : error;
  }
}

/** UTF-8 JSON, not compressed. */
export const isJson = ({ headers }: IncomingMessage): boolean => {
  const type = headers["content-type"];
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") return false;
  return type === "application/json" || /^application\/json\s*(;\s*charset="?utf-8"?\s*)?;?$/i.test(type ?? "");
};

export type MediaType = "application/json" | "application/graphql-response+json" | "text/event-stream";

/** The first media type in the Accept header that the server has; without one, application/json. */
export function mediaTypeOf({ headers: { accept } }: IncomingMessage): MediaType {
  if (accept === undefined || accept === "*/*") return "application/json";
  const match = /application\/(?:graphql-response\+)?json|text\/event-stream/i.exec(accept);
  return (match?.[0].toLowerCase() as MediaType | undefined) ?? "application/json";
}

import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { isJson, mediaTypeOf } from "./graphql-request.ts";
import { pathOf } from "../request.ts";

const withHeaders = (headers: Record<string, string>): IncomingMessage => ({ headers }) as never;

test.for([
  [undefined, "application/json"],
  ["*/*", "application/json"],
  ["application/json", "application/json"],
  ["application/graphql-response+json", "application/graphql-response+json"],
  ["application/graphql-response+json, application/json;q=0.9", "application/graphql-response+json"],
  ["application/json, multipart/mixed", "application/json"],
  ["text/event-stream", "text/event-stream"],
  ["Text/Event-Stream", "text/event-stream"],
  ["text/html", "application/json"],
] as const)("Accept %s is answered as %s", ([accept, expected]) => {
  expect(mediaTypeOf(withHeaders(accept === undefined ? {} : { accept }))).toBe(expected);
});

test.for([
  ["application/json", true],
  ["application/json; charset=utf-8", true],
  ['application/json; charset="UTF-8"', true],
  ["APPLICATION/JSON", true],
  ["application/json; charset=latin1", false],
  ["application/jsonp", false],
  ["text/json", false],
  ["", false],
] as const)("Content-Type %s: %s", ([type, expected]) => {
  expect(isJson(withHeaders({ "content-type": type }))).toBe(expected);
});

test.for([
  ["/graphql", "", "/graphql"],
  ["/graphql?query=x", "", "/graphql"],
  ["/a/graphql", "/a", "/graphql"],
  ["/a", "/a", ""],
  ["/a?b", "/a", ""],
  ["/a/", "/a", "/"],
  ["/ab/graphql", "/a", "/ab/graphql"],
  ["/", "/a", "/"],
] as const)("%s below %s is %s", ([url, prefix, expected]) => {
  expect(pathOf(url, prefix)).toBe(expected);
});

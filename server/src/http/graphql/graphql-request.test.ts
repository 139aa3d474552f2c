import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { checkHead, mediaTypeOf } from "./graphql-request.ts";
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
  ["application/json", "taken"],
  ["application/json; charset=utf-8", "taken"],
  ['application/json; charset="UTF-8"', "taken"],
  ["Application/JSON;Charset=utf8 ;", "taken"],
  ["application/json; odata=verbose", "taken"],
  ["application/json; charset=latin1", "the Content-Type says charset=latin1: send the body in UTF-8"],
  ["application/jsonp", "the Content-Type must be application/json, in UTF-8"],
  ["application/graphql+json", "the Content-Type must be application/json, in UTF-8"],
  ["text/json", "the Content-Type must be application/json, in UTF-8"],
  ["", "the Content-Type must be application/json, in UTF-8"],
] as const)("Content-Type %s: %s", ([type, expected]) => {
  const said = (): string => {
    try {
      checkHead({ method: "POST", headers: { "content-type": type } } as never);
      return "taken";
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(said()).toBe(expected);
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

import { expect, test } from "vitest";
import { foreignCharset, isJson, readMediaType } from "./media-type.ts";

test.for([
  ["application/json", "application/json", {}],
  ["APPLICATION/Json", "application/json", {}],
  ["application/json; charset=utf8", "application/json", { charset: "utf8" }],
  ['application/json;odata="verbose" ; CharSet="UTF-8";', "application/json", { odata: "verbose", charset: "UTF-8" }],
  [
    'application/vnd.api+json; profile="https://a.example/b;c=\\"d\\""',
    "application/vnd.api+json",
    { profile: 'https://a.example/b;c="d"' },
  ],
  ["application/json; charset=utf-8; charset=latin1", "application/json", { charset: "utf-8" }],
  ["application/json;;", "application/json", {}],
] as const)("%s", ([text, essence, parameters]) => {
  const read = readMediaType(text)!;
  expect(read.essence).toBe(essence);
  expect(Object.fromEntries(read.parameters)).toEqual(parameters);
});

test.for([
  "",
  "json",
  "application/",
  "application/json charset=utf-8",
  "application/json; charset",
  'application/json; a="b',
  "text/plain, application/json",
])("%s is no media type", (text) => {
  expect(readMediaType(text)).toBeUndefined();
});

test("JSON has several names, and UTF-8 two", () => {
  const json = ["application/json", "text/json", "application/hal+json", "application/problem+JSON"];
  expect(json.filter((text) => isJson(readMediaType(text)!.essence))).toEqual(json);
  expect(
    ["application/jsonp", "text/plain", "application/json-seq"].filter((text) => isJson(readMediaType(text)!.essence)),
  ).toEqual([]);
  const charsetOf = (charset: string) => foreignCharset(readMediaType(`application/json; charset=${charset}`)!);
  expect(["utf-8", "UTF8", '"utf-8"'].map(charsetOf)).toEqual([undefined, undefined, undefined]);
  expect(["latin1", "utf-16"].map(charsetOf)).toEqual(["latin1", "utf-16"]);
});

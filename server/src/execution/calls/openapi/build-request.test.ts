import { describe, expect, test } from "vitest";
import type { ApiContent, ApiForm, ApiOperation, ApiPlace, ApiStyle } from "../../../definition/openapi/operation.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { leastMs } from "../../../lib/processor-time.testsuite.ts";
import { buildRequest } from "./build-request.ts";

const FORM: ApiForm = { style: "form", explode: true, isReserved: false };
const OPERATION: ApiOperation = {
  method: "GET",
  path: "/a",
  server: { url: "https://example.com", variables: [] },
  parameters: [],
  body: null,
  accepts: [],
};
const at = (place: ApiPlace, form: Partial<ApiForm> = {}, name = "color") => ({
  name,
  in: place,
  required: false,
  ...FORM,
  ...form,
});
const built = (more: Partial<ApiOperation>, parameters: JsonObject) =>
  buildRequest({ ...OPERATION, ...more }, parameters, "/p");
const problemOf = (more: Partial<ApiOperation>, parameters: JsonObject): string => {
  try {
    built(more, parameters);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};

const TEXT = "blue";
const LIST = ["blue", "black", "brown"];
const OBJECT = { R: 100, G: 200, B: 150 };

/** The table of the standard (3.1, "Style Examples"), as far as it writes something. */
describe("the standard's examples of styles", () => {
  test.each<[ApiStyle, boolean, Json, string]>([
    ["matrix", false, TEXT, ";color=blue"],
    ["matrix", false, LIST, ";color=blue,black,brown"],
    ["matrix", false, OBJECT, ";color=R,100,G,200,B,150"],
    ["matrix", true, LIST, ";color=blue;color=black;color=brown"],
    ["matrix", true, OBJECT, ";R=100;G=200;B=150"],
    ["label", false, TEXT, ".blue"],
    ["label", false, LIST, ".blue,black,brown"],
    ["label", false, OBJECT, ".R,100,G,200,B,150"],
    ["label", true, LIST, ".blue.black.brown"],
    ["label", true, OBJECT, ".R=100.G=200.B=150"],
    ["simple", false, TEXT, "blue"],
    ["simple", false, LIST, "blue,black,brown"],
    ["simple", false, OBJECT, "R,100,G,200,B,150"],
    ["simple", true, OBJECT, "R=100,G=200,B=150"],
    ["json", false, OBJECT, "%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D"],
  ])("%s, %s, %j in a path is %s", (style, explode, color, text) => {
    const { endpoint } = built({ path: "/a/{color}/b", parameters: [at("path", { style, explode })] }, { color });
    expect(endpoint).toBe(`https://example.com/a/${text}/b`);
  });

  test.each<[ApiStyle, boolean, Json, string]>([
    ["form", false, "", "color="],
    ["form", false, TEXT, "color=blue"],
    ["form", false, LIST, "color=blue,black,brown"],
    ["form", false, OBJECT, "color=R,100,G,200,B,150"],
    ["form", true, LIST, "color=blue&color=black&color=brown"],
    ["form", true, OBJECT, "R=100&G=200&B=150"],
    ["spaceDelimited", false, LIST, "color=blue%20black%20brown"],
    ["pipeDelimited", false, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"],
    ["deepObject", true, OBJECT, "color[R]=100&color[G]=200&color[B]=150"],
    ["json", false, LIST, "color=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D"],
  ])("%s, %s, %j in a query is %s", (style, explode, color, text) => {
    const { endpoint } = built({ parameters: [at("query", { style, explode })] }, { color });
    expect(endpoint).toBe(`https://example.com/a?${text}`);
  });

  test("a list or an object in a header", () => {
    const header = (explode: boolean, color: Json) =>
      built({ parameters: [at("header", { style: "simple", explode }, "X")] }, { X: color })["headers"];
    expect(header(false, LIST)).toEqual({ X: "blue,black,brown" });
    expect(header(false, OBJECT)).toEqual({ X: "R,100,G,200,B,150" });
    expect(header(true, OBJECT)).toEqual({ X: "R=100,G=200,B=150" });
  });
});

test("signs of URLs in values are encoded, or stay where the document says so and they can mean nothing else", () => {
  const color = "a/b?c&d=e#f+g:h";
  const query = (isReserved: boolean) => built({ parameters: [at("query", { isReserved })] }, { color })["endpoint"];
  expect(query(false)).toBe("https://example.com/a?color=a%2Fb%3Fc%26d%3De%23f%2Bg%3Ah");
  expect(query(true)).toBe("https://example.com/a?color=a/b?c%26d%3De%23f%2Bg:h");
});

test("a path with a query or a fragment of its own keeps the query", () => {
  const parameters = [at("query")];
  expect(built({ path: "/a?x=1", parameters }, { color: 1 })["endpoint"]).toBe("https://example.com/a?x=1&color=1");
  expect(built({ path: "/a#x", parameters }, { color: 1 })["endpoint"]).toBe("https://example.com/a?color=1");
});

test("a name in two places is told apart by them", () => {
  const parameters = [at("query"), at("header", { style: "simple" })];
  expect(problemOf({ parameters }, { color: 1 })).toContain("write query.color or header.color");
  expect(built({ parameters }, { "query.color": 1, "header.color": 2 })).toMatchObject({
    endpoint: "https://example.com/a?color=1",
    headers: { color: "2" },
  });
});

describe("a body", () => {
  const json = { type: "application/json", properties: null, encoding: [] };
  const text = { type: "text/plain", properties: null, encoding: [] };
  const body = (contents: ApiContent[] = [json], required = false) => ({ required, name: null, contents });

  test("of fields of any name, one of which is named like a part of an object", () => {
    const parameters = JSON.parse('{"__proto__": {"a": 1}, "toString": 2}') as JsonObject;
    expect(JSON.stringify(built({ body: body() }, parameters)["body"])).toBe('{"__proto__":{"a":1},"toString":2}');
  });

  test("that is a text is JSON where JSON is wanted", () => {
    expect(built({ body: body() }, { body: 'say "hi"' })["body"]).toBe('"say \\"hi\\""');
    expect(built({ body: body([text]) }, { body: 'say "hi"' })["body"]).toBe('say "hi"');
    expect(problemOf({ body: body([text]) }, { body: { a: 1 } })).toContain(
      "is sent as text/plain, so it must be a text",
    );
  });

  test("is sent as the media type that the author chooses", () => {
    const parameters = { "Content-Type": "text/plain", body: "x" };
    expect(built({ body: body([json, text]) }, parameters)).toMatchObject({
      headers: { "Content-Type": "text/plain" },
      body: "x",
    });
    expect(problemOf({ body: body() }, parameters)).toContain("is none of application/json");
  });

  test("that is needed, or given twice, or not wanted", () => {
    expect(problemOf({ body: body([json], true) }, {})).toContain("the operation needs a body");
    expect(problemOf({ body: body() }, { body: {}, a: 1 })).toContain("body is the whole body");
    expect(problemOf({}, { body: {} })).toContain('GET /a has no parameter "body"; it takes none');
  });

  test("of a form has at most as many bytes as an output, counted while it is made", () => {
    const encoding = [{ name: "deep", style: "deepObject" as const, explode: true, isReserved: false }];
    const form = { type: "application/x-www-form-urlencoded", properties: null, encoding };
    // Each leaf repeats the name of 300,000 characters: 30 GB in all.
    const deep = { ["n".repeat(300_000)]: Object.fromEntries(Array.from({ length: 100_000 }, (_, leaf) => [leaf, 1])) };
    expect(problemOf({ body: body([form]) }, { deep })).toContain(`a form has at most ${LIMITS.outputBytes}`);
  });
});

test("a list within a list has no way to be written", () => {
  expect(problemOf({ parameters: [at("query")] }, { color: [[1]] })).toBe(
    "/p/color has a list within, which its style can't write, so nothing was sent",
  );
});

test("half of a surrogate pair is not sent", () => {
  expect(problemOf({ parameters: [at("query")] }, { color: "\ud800" })).toContain("half of a surrogate pair");
});

test("a URL is not longer than one may be", () => {
  const of = (length: number) => problemOf({ parameters: [at("query")] }, { color: "x".repeat(length) });
  const room = LIMITS.outboundUrlCharacters - "/acolor".length;
  expect([of(room), of(room + 1)]).toEqual(["", expect.stringContaining(`at most ${LIMITS.outboundUrlCharacters}`)]);
});

describe("a hostile document with as many fields as data may have costs little time", () => {
  const MAX_MS = 100;
  const names = (count: number) => Array.from({ length: count }, (_, at) => `name${at}`);
  const fields: JsonObject = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`x${at}`, 1]));
  const open = (type: string, encoding: ApiContent["encoding"] = []) => ({
    required: false,
    name: null,
    contents: [{ type, properties: null, encoding }],
  });

  test.each<[string, Partial<ApiOperation>]>([
    ["a path of placeholders", { path: `/${"{}".repeat(20_000)}`, body: open("application/json") }],
    [
      "a server of variables",
      {
        server: { url: `https://${"{v}".repeat(10_000)}a`, variables: [{ name: "v", default: "", enum: null }] },
        body: open("application/json"),
      },
    ],
    ["names that it does not have", { parameters: names(200).map((name) => at("query", {}, name)) }],
    [
      "parameters that are missing",
      {
        parameters: names(200).map((name) => ({ ...at("query", {}, name), required: true })),
        body: open("application/json"),
      },
    ],
    [
      "a form of fields with encodings",
      {
        body: open(
          "application/x-www-form-urlencoded",
          names(600).map((name) => ({ name, ...FORM })),
        ),
      },
    ],
  ])("%s", (_, operation) => {
    expect(leastMs(MAX_MS, () => problemOf(operation, fields))).toBeLessThan(MAX_MS);
  });
});

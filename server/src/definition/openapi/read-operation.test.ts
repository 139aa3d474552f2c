import { describe, expect, test } from "vitest";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { readOperation } from "./read-operation.ts";

const BASE = "https://example.com/docs/openapi.json";

/** A document of version 3 with one operation. */
const of = (operation: JsonObject, more: JsonObject = {}, path = "/things"): JsonObject => ({
  openapi: "3.1.0",
  paths: { [path]: { post: { operationId: "make", ...operation } } },
  ...more,
});
const read = (document: Json, wanted = "make") => readOperation(document, wanted, BASE);
const problemOf = (document: Json, wanted = "make"): string => {
  try {
    read(document, wanted);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};
const query = (name: string, more: JsonObject = {}): JsonObject => ({ name, in: "query", ...more });

describe("the server", () => {
  const serverOf = (url: string, base = BASE): string =>
    readOperation(of({}, { servers: [{ url }] }), "make", base).server.url;
  test.each([
    ["https://api.example.com/v1/", "https://api.example.com/v1"],
    ["/v1", "https://example.com/v1"],
    ["v1", "https://example.com/docs/v1"],
    ["./v1", "https://example.com/docs/v1"],
    ["//api.example.com/v1", "https://api.example.com/v1"],
    ["https://{tenant}.example.com", "https://{tenant}.example.com"],
  ])("%s is %s", (url, whole) => expect(serverOf(url)).toBe(whole));

  test("is the operation's, else its path's, else the document's, else where the document is", () => {
    const server = (name: string) => ({ servers: [{ url: `https://${name}.example.com` }] });
    const path = (item: JsonObject, more: JsonObject) => ({ openapi: "3.0.0", paths: { "/a": item }, ...more });
    const own = { get: { operationId: "make", ...server("own") }, ...server("path") };
    expect(read(path(own, server("all"))).server.url).toBe("https://own.example.com");
    expect(read(path({ ...own, get: { operationId: "make" } }, server("all"))).server.url).toBe(
      "https://path.example.com",
    );
    expect(read(of({}, server("all"))).server.url).toBe("https://all.example.com");
    expect(read(of({})).server.url).toBe("https://example.com");
  });

  test("of version 2.0 is put together", () => {
    const document = {
      swagger: "2.0",
      host: "api.example.com",
      basePath: "v2/",
      paths: { "/a": { get: { operationId: "make" } } },
    };
    expect(read({ ...document, schemes: ["http", "https"] }).server.url).toBe("https://api.example.com/v2");
    expect(read({ ...document, schemes: ["http"] }).server.url).toBe("http://api.example.com/v2");
    const own = {
      ...document,
      produces: ["text/csv"],
      paths: { "/a": { get: { operationId: "make", produces: ["text/xml"] } } },
    };
    expect([read({ ...document, produces: ["text/csv"] }).accepts, read(own).accepts]).toEqual([
      ["text/csv"],
      ["text/xml"],
    ]);
  });
});

describe("parameters", () => {
  test("of the operation replace those of its path, and keys of security schemes are parameters", () => {
    const document = {
      openapi: "3.0.1",
      security: [{ all: [] }],
      paths: {
        "/a/{id}": {
          parameters: [query("q"), query("own", { required: true })],
          get: {
            operationId: "make",
            parameters: [query("q", { style: "pipeDelimited" })],
            security: [{ key: [] }, { no: [] }],
          },
        },
      },
      components: {
        securitySchemes: {
          key: { type: "apiKey", in: "query", name: "api_key" },
          all: { type: "apiKey", in: "header", name: "X" },
        },
      },
    };
    expect(read(document).parameters).toEqual([
      { name: "q", in: "query", required: false, style: "pipeDelimited", explode: false, isReserved: false },
      { name: "own", in: "query", required: true, style: "form", explode: true, isReserved: false },
      { name: "id", in: "path", required: true, style: "simple", explode: false, isReserved: false },
      { name: "api_key", in: "query", required: false, style: "form", explode: true, isReserved: false },
    ]);
  });

  test("as many parameters as one may have are read, and no more", () => {
    const many = (count: number) => of({ parameters: Array.from({ length: count }, (_, at) => query(`p${at}`)) });
    expect(read(many(LIMITS.openapiParameters)).parameters).toHaveLength(LIMITS.openapiParameters);
    expect(problemOf(many(LIMITS.openapiParameters + 1))).toContain(`more than ${LIMITS.openapiParameters} parameters`);
  });

  test("a name as long as one may be is read, and no longer one", () => {
    const named = (length: number) => of({ parameters: [query("n".repeat(length))] });
    expect(problemOf(named(LIMITS.openapiNameCharacters))).toBe("");
    expect(problemOf(named(LIMITS.openapiNameCharacters + 1))).toContain("too long");
  });

  test.each([
    [{ name: "Host", in: "header" }, "is set by the call itself"],
    [{ name: "a b", in: "header" }, "is no name of a header"],
    [{ name: "a;b", in: "cookie" }, "is no name of a cookie"],
    [{ name: "", in: "query" }, "without a name"],
    [query("q", { style: "loud" }), 'of the style "loud"'],
    [{ $ref: "#/components/parameters/none" }, "which it does not have"],
    [{ $ref: "other.yaml#/q" }, "bundle it into one document"],
  ])("%j is refused", (parameter, problem) => expect(problemOf(of({ parameters: [parameter] }))).toContain(problem));
});

describe("a body", () => {
  const bodyOf = (content: JsonObject, more: JsonObject = {}) => read(of({ requestBody: { content } }, more)).body;

  test("has its media types in order of preference, and the fields of all parts of its schema", () => {
    const schemas = {
      a: { properties: { one: {} }, allOf: [{ $ref: "#/components/schemas/b" }] },
      b: { properties: { two: {} }, oneOf: [{ $ref: "#/components/schemas/a" }, { properties: { three: {} } }] },
    };
    const schema = { $ref: "#/components/schemas/a" };
    const body = bodyOf(
      {
        "text/plain": {},
        "image/png": {},
        "application/x-www-form-urlencoded": { schema },
        "application/hal+json": { schema },
      },
      { components: { schemas } },
    );
    expect(body!.contents.map(({ type, properties }) => [type, properties])).toEqual([
      ["application/hal+json", ["one", "two", "three"]],
      ["application/x-www-form-urlencoded", ["one", "two", "three"]],
      ["text/plain", null],
    ]);
  });

  test("may have any fields if its schema lets it", () => {
    for (const schema of [{}, { properties: { a: {} }, additionalProperties: true }, { type: "array" }])
      expect(bodyOf({ "application/json": { schema } })!.contents[0]!.properties).toBeNull();
  });

  test("that can't be sent is refused", () => {
    expect(problemOf(of({ requestBody: { content: { "multipart/form-data": {} } } }))).toContain("use call: http");
  });

  test("as much as is kept of an operation is read, and no more", () => {
    const filled = (characters: number) => {
      const parameters = Array.from({ length: 20 }, (_, at) => query(`${at}`.padStart(100, "n")));
      return of({ parameters }, {}, `/${"p".repeat(characters)}`);
    };
    const room = LIMITS.openapiOperationCharacters - JSON.stringify(read(filled(0))).length;
    expect(problemOf(filled(room))).toBe("");
    expect(problemOf(filled(room + 1))).toContain(`than the ${LIMITS.openapiOperationCharacters} characters`);
  });
});

describe("which operation", () => {
  test("two with one id are told apart by method and path", () => {
    const document = {
      openapi: "3.0.0",
      paths: { "/a": { get: { operationId: "make" }, put: { operationId: "make" } } },
    };
    expect(problemOf(document)).toBe('has more than one operation "make"; write one of GET /a, PUT /a');
    expect(read(document, "PUT /a").method).toBe("PUT");
  });

  test("what is not there says what is", () => {
    expect(problemOf(of({}), "other")).toBe('has no operation "other"; known here: make');
    const many = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`/${at}`, { get: { operationId: `get${at}` } }]),
    );
    expect(problemOf({ openapi: "3.0.0", paths: many }, "nothing")).toContain("it has 10000, such as get0, get1, get2");
    expect(problemOf({ openapi: "3.0.0" }, "nothing")).toContain("it has none at all");
  });

  test.each<[Json]>([
    [null],
    [[]],
    ["text"],
    [{}],
    [{ openapi: 3 }],
    [{ openapi: "3.2.0" }],
    [{ swagger: "1.2", paths: [] }],
  ])("%j is no document", (document) => expect(problemOf(document)).not.toBe(""));

  test("parts of a wrong type are as if they were not there", () => {
    const odd = [null, 1, "x", [], [[]], { $ref: 1 }];
    for (const part of odd) {
      for (const key of ["parameters", "requestBody", "responses", "security", "servers"])
        expect(read(of({ [key]: part })).path, `${key} ${JSON.stringify(part)}`).toBe("/things");
      expect(problemOf({ openapi: "3.0.0", paths: part })).toContain("has no operation");
      expect(problemOf({ openapi: "3.0.0", paths: { "/a": part } })).toContain("has no operation");
    }
  });

  test("names of Object.prototype are names like others", () => {
    const names = ["__proto__", "constructor", "toString"];
    const document = JSON.parse(
      `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "__proto__", "parameters": [${names
        .map((name) => `{"name": "${name}", "in": "query"}`)
        .join()}, {"$ref": "#/__proto__/x"}]}}}, "__proto__": {"x": {"name": "y", "in": "query"}}}`,
    ) as Json;
    expect(read(document, "__proto__").parameters.map(({ name }) => name)).toEqual([...names, "y"]);
    expect(problemOf(document, "constructor")).toContain("has no operation");
    expect(problemOf(of({ parameters: [{ $ref: "#/__proto__" }] }))).toContain("which it does not have");
  });
});

test("a document costs what its size does, however its references are knotted", () => {
  // Each schema has ten of the next: written out they would be 10^60.
  const schemas = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [
      `s${at}`,
      {
        properties: { [`f${at}`]: {} },
        allOf: Array.from({ length: 10 }, () => ({ $ref: `#/components/schemas/s${(at + 1) % 60}` })),
      },
    ]),
  );
  const content = { "application/json": { schema: { $ref: "#/components/schemas/s0" } } };
  const knotted = of({ requestBody: { content } }, { components: { schemas } });
  expect(read(knotted).body!.contents[0]!.properties).toHaveLength(60);
  const paths = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, at) => [
      `/things${at}/{id}`,
      { get: { operationId: `getThing${at}`, parameters: [query("q")] } },
    ]),
  );
  const large = { openapi: "3.0.0", paths };
  expect(leastMs(20, () => read(knotted))).toBeLessThan(20);
  expect(leastMs(100, () => read(large, "getThing9999"))).toBeLessThan(100);
  expect(leastMs(100, () => problemOf(large, "getThings"))).toBeLessThan(100);
});

/** `call: openapi` over the wire: documents of versions 2.0, 3.0 and 3.1, what is sent for them, what stays as it was, and what is refused. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { eventually, startTestServer, type Data } from "./client.ts";
import { startEndpoint, type Asked, type Endpoint } from "./endpoint.ts";
import { start } from "./agents.ts";
import { agentOf, CANCEL, ran, runOf, until } from "./runs.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { stretchMs } from "./raw.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
/** Serves the documents, and the services that they describe. */
let site: Endpoint;

beforeAll(async () => {
  [server, site] = [await movedServer(), await startEndpoint()];
});
afterAll(async () => {
  for (const one of [server, site]) await one[Symbol.asyncDispose]();
});
beforeEach(() => site.reset());

const PETS = {
  openapi: "3.0.3",
  info: { title: "Pets", version: "1.0.0" },
  servers: [{ url: "api/{area}", variables: { area: { default: "eu", enum: ["eu", "us"] } } }],
  security: [{ key: [] }],
  paths: {
    "/pets/{petId}": {
      parameters: [{ $ref: "#/components/parameters/petId" }],
      get: {
        operationId: "getPet",
        parameters: [
          { name: "tags", in: "query", schema: { type: "array" } },
          { name: "filter", in: "query", style: "deepObject", explode: true, schema: { type: "object" } },
          { name: "X-Trace", in: "header", schema: { type: "string" } },
          { name: "session", in: "cookie", schema: { type: "string" } },
        ],
        responses: { 200: { description: "OK", content: { "text/plain": {}, "application/json": {} } } },
      },
      patch: {
        operationId: "changePet",
        requestBody: { $ref: "#/components/requestBodies/pet" },
        responses: { 204: { description: "OK" } },
      },
    },
    "/forms": {
      post: {
        operationId: "sendForm",
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              schema: { type: "object", properties: { name: {}, address: {}, tags: {}, card: {} } },
              encoding: { card: { style: "deepObject", explode: true } },
            },
          },
        },
      },
    },
    "/notes": { post: { requestBody: { required: true, content: { "text/plain": {} } } } },
  },
  components: {
    parameters: { petId: { name: "petId", in: "path", required: true, schema: { type: "string" } } },
    requestBodies: {
      pet: { content: { "application/json": { schema: { allOf: [{ $ref: "#/components/schemas/pet" }] } } } },
    },
    schemas: { pet: { properties: { name: {}, owner: { $ref: "#/components/schemas/pet" } } } },
    securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Api-Key" } },
  },
};

const JSON_TYPE = { "content-type": "application/json" };
const json = (value: unknown) => ({ headers: JSON_TYPE, body: JSON.stringify(value) });

/** A call of an operation, as YAML. */
const call = (operationId: string, parameters: unknown = {}, more: object = {}): string =>
  `do: [{call: {call: openapi, with: ${JSON.stringify({ document: { endpoint: `${site.url}/doc/openapi.json` }, operationId, parameters, ...more })}}}]`;

/** Runs it with the document as the first answer; returns what was sent after it. */
async function called(
  document: unknown,
  operationId: string,
  parameters: unknown = {},
  more: object = {},
): Promise<{ run: Data; asked: Asked | undefined }> {
  const before = site.seen.length;
  site.answers = [typeof document === "string" ? { body: document } : json(document)];
  site.answer = json({ id: 1, name: "Rex" });
  const run = await runOf(server, call(operationId, parameters, more));
  return { run, asked: site.seen[before + 1] };
}

const problemOf = async (...asked: Parameters<typeof called>): Promise<string> => {
  const { run, asked: sent } = await called(...asked);
  expect([run.status, sent]).toEqual(["failed", undefined]);
  return `${(run.error.type as string).split("/").at(-1)}: ${run.error.detail}`;
};

describe("an operation of an OpenAPI document", () => {
  test("gets its parameters in path, query, headers and cookies", async () => {
    const parameters = {
      petId: "a b/c",
      tags: ["x", "y&z"],
      filter: { color: "red", size: { min: 2 } },
      "X-Trace": "t-1",
      session: "s1",
      "X-Api-Key": "key",
    };
    const { run, asked } = await called(PETS, "getPet", parameters, { output: "response" });
    expect(run.error).toBeNull();
    expect(asked).toMatchObject({
      method: "GET",
      url: "/doc/api/eu/pets/a%20b%2Fc?tags=x&tags=y%26z&filter[color]=red&filter[size][min]=2",
      headers: { accept: "application/json, text/plain", "x-trace": "t-1", cookie: "session=s1", "x-api-key": "key" },
    });
    expect(asked!.headers["idempotency-key"]).toMatch(/^[\w-]{22}$/);
    expect(run.output).toMatchObject({ statusCode: 200, content: { id: 1, name: "Rex" } });
    const [step] = run.steps;
    expect(step).toMatchObject({
      kind: "openapi",
      input: { operationId: "getPet", method: "GET", endpoint: `${site.url}${asked!.url}`, output: "response" },
    });
  });

  test("gets what is no parameter as fields of its body, or the body as a whole", async () => {
    const given = { petId: 7, name: "${ .name }", owner: null, area: "us" };
    site.answers.push(json(PETS));
    const run = await runOf(server, call("changePet", given), { name: "Rex" });
    expect([run.error, run.output]).toEqual([null, null]);
    expect(site.seen[1]).toMatchObject({
      method: "PATCH",
      url: "/doc/api/us/pets/7",
      headers: JSON_TYPE,
      body: '{"name":"Rex","owner":null}',
    });
    const { asked } = await called(PETS, "changePet", { petId: 7, body: { anything: [1] } });
    expect(asked!.body).toBe('{"anything":[1]}');
  });

  test("sends forms and texts", async () => {
    const fields = {
      name: "A & B",
      tags: ["x", "y"],
      address: { city: "Bonn" },
      card: { number: "1", more: { a: [2] } },
    };
    const { asked } = await called(PETS, "sendForm", fields);
    expect(asked).toMatchObject({ headers: { "content-type": "application/x-www-form-urlencoded" } });
    expect([...new URLSearchParams(asked!.body)]).toEqual([
      ["name", "A & B"],
      ["tags", "x"],
      ["tags", "y"],
      ["address", '{"city":"Bonn"}'],
      ["card[number]", "1"],
      ["card[more][a][0]", "2"],
    ]);
    const { asked: text } = await called(PETS, "POST /notes", { body: "Hello" });
    expect(text).toMatchObject({ url: "/doc/api/eu/notes", body: "Hello", headers: { "content-type": "text/plain" } });
  });

  test("is also one of a Swagger 2.0 document, or of YAML", async () => {
    const swagger = `swagger: "2.0"
basePath: /v2
host: ${new URL(site.url).host}
schemes: [http]
paths:
  ${new URL(site.url).pathname}/pets/{id}:
    post:
      operationId: update
      consumes: [application/x-www-form-urlencoded]
      parameters:
        - {name: id, in: path, type: integer, required: true}
        - {name: names, in: formData, type: array, collectionFormat: csv}
        - {name: ids, in: query, type: array, collectionFormat: pipes}
`.replace("basePath: /v2\n", "");
    const { run, asked } = await called(swagger, "update", { id: 3, names: ["a", "b"], ids: [1, 2] });
    expect(run.error).toBeNull();
    expect(asked).toMatchObject({ method: "POST", url: "/pets/3?ids=1%7C2", body: "names=a,b" });
  });

  test("authenticates as a call of HTTP, and its errors and retries are those of one", async () => {
    site.answers.push(json(PETS), { status: 503 });
    site.answer = json({ ok: true });
    const authentication = { bearer: { token: "t-0123456789" } };
    const given = {
      document: { endpoint: `${site.url}/o.json` },
      operationId: "getPet",
      parameters: { petId: 1 },
      authentication,
    };
    const task = `{call: openapi, with: ${JSON.stringify(given)}}`;
    const run = await runOf(
      server,
      `do: [{safe: {try: [{call: ${task}}], catch: {errors: {with: {status: 503}}, retry: {delay: {milliseconds: 1}}}}}]`,
    );
    expect([run.error, run.output]).toEqual([null, { ok: true }]);
    const [document, first, second] = site.seen;
    expect(document!.headers.authorization).toBeUndefined();
    expect([first, second].map((one) => one!.headers.authorization)).toEqual(Array(2).fill("Bearer t-0123456789"));
    expect(first!.headers["idempotency-key"]).toBe(second!.headers["idempotency-key"]);
    expect(site.seen).toHaveLength(3);
  });

  test("stays as the version's first call read it", async () => {
    site.answers.push(json(PETS));
    site.answer = json({});
    const agentId = await agentOf(server, call("getPet", { petId: 1 }));
    for (let count = 0; count < 3; count++) expect((await ran(server, agentId)).status).toBe("completed");
    // Not even asked for again.
    expect(site.seen.map(({ url }) => url)).toEqual(["/doc/openapi.json", ...Array(3).fill("/doc/api/eu/pets/1")]);
    // Another version reads what the document has become.
    const moved = { ...PETS, servers: [{ url: `${site.url}/elsewhere` }] };
    const { asked } = await called(moved, "getPet", { petId: 1 });
    expect(asked!.url).toBe("/elsewhere/pets/1");
  });

  test("is fetched once for runs that begin together, whoever of them is cancelled", async () => {
    site.answers.push({ status: 200, headers: JSON_TYPE });
    site.answers.length = 0;
    site.answer = "held";
    const agentId = await agentOf(server, call("getPet", { petId: 1 }));
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => start(server, agentId)));
    await eventually(async () => site.held === 1);
    await server.data(CANCEL, { id: first });
    site.answer = json({});
    site.letGo(JSON.stringify(PETS));
    for (const id of others) expect((await until(server, id, "completed", "failed")).status).toBe("completed");
    expect(site.seen.filter(({ url }) => url === "/doc/openapi.json")).toHaveLength(1);
  });
});

describe("a document in the definition", () => {
  const inline = (
    operationId: string,
    parameters: object,
    document: object = { ...PETS, servers: [{ url: site.url }] },
  ) =>
    `do: [{call: {call: openapi, with: ${JSON.stringify({ document: { inline: document }, operationId, parameters })}}}]`;
  const problemsOf = async (body: string): Promise<[string, string][]> => {
    const definition = `document: {dsl: '1.0.3', namespace: test, name: inline, version: '1.0.0'}\n${body}`;
    const { validateDefinition: found } = await server.data(
      "query($definition: String!) { validateDefinition(definition: $definition) { problems { path message } } }",
      { definition },
    );
    return found.problems.map(({ path, message }: Data) => [path, message]);
  };

  test("is called without being fetched", async () => {
    site.answer = json({ id: 1 });
    const run = await runOf(server, inline("getPet", { petId: 1 }));
    expect([run.error, run.output, site.seen.map(({ url }) => url)]).toEqual([null, { id: 1 }, ["/pets/1"]]);
  });

  test("tells at publish what it does not have", async () => {
    expect(await problemsOf(inline("getPets", { petId: 1 }))).toEqual([
      ["/do/0/call/with/operationId", 'the document has no operation "getPets"; did you mean "getPet"?'],
    ]);
    expect(await problemsOf(inline("getPet", { petID: 1 }))).toEqual([
      ["/do/0/call/with/operationId", "petId is missing, which the operation needs in path"],
      ["/do/0/call/with/parameters/petID", 'GET /pets/{petId} has no parameter "petID"; did you mean "petId"?'],
    ]);
    expect(await problemsOf(inline("getPet", { petId: 1 }, PETS))).toEqual([
      ["/do/0/call/with/operationId", expect.stringContaining("in a definition it needs one with a whole URL")],
    ]);
    expect(await problemsOf(inline("getPet", { petId: 1 }))).toEqual([]);
    // The page's example, which the standard does not have.
    const page = readFileSync(path.join(import.meta.dirname, "../docs/definitions.md"), "utf8");
    const [, example] = /^```yml\n([^]*?)^```/m.exec(page)!;
    expect(await problemsOf(example!)).toEqual([]);
  });
});

describe("nothing is sent for", () => {
  test("an operation or a parameter that the document does not have", async () => {
    expect(await problemOf(PETS, "getpet")).toMatch(
      /^configuration: the OpenAPI document from [\d.:]+ has no operation "getpet"; did you mean "getPet"\?, so nothing was sent$/,
    );
    expect(await problemOf(PETS, "getPet", {})).toBe(
      "validation: /do/0/call/with/parameters: petId is missing, which the operation needs in path, so nothing was sent",
    );
    expect(await problemOf(PETS, "getPet", { petId: 1, tag: 1 })).toContain(
      'has no parameter "tag"; did you mean "tags"?',
    );
    expect(await problemOf(PETS, "getPet", { petId: 1, area: "asia" })).toContain("area is none of eu, us");
  });

  test("a value that would lead elsewhere", async () => {
    for (const petId of ["..", ".", "%2e%2e/x/..", "", null, [], { a: { b: 1 } }])
      expect(await problemOf(PETS, "getPet", { petId }), JSON.stringify(petId)).toMatch(/so nothing was sent$/);
    expect(await problemOf(PETS, "getPet", { petId: 1, "X-Trace": "a\r\nHost: evil" })).toContain("line break");
    expect(await problemOf(PETS, "getPet", { petId: 1, session: "a; admin=1" })).toContain("no cookie");
    const open = { ...PETS, servers: [{ url: "http://{tenant}.example.com", variables: { tenant: {} } }] };
    for (const tenant of ["evil.com/", "a@evil.com#", "x:80"])
      expect(await problemOf(open, "getPet", { petId: 1, tenant })).toContain("can't stand in the server's URL");
  });

  test("a server that the guard refuses", async () => {
    const inner = { ...PETS, servers: [{ url: "http://169.254.169.254/latest" }] };
    expect(await problemOf(inner, "getPet", { petId: 1 })).toMatch(/^authorization: /);
    expect(await problemOf({ ...PETS, servers: [{ url: "file:///etc" }] }, "getPet", { petId: 1 })).toContain(
      "only http and https can be called",
    );
  });

  test("a document that is none, that is not there, or that refers to others", async () => {
    expect(await problemOf("[1, 2]", "getPet")).toContain("is not an OpenAPI document, but something else");
    expect(await problemOf("{", "getPet")).toContain("can't be read as JSON");
    expect(await problemOf("a: b: c", "getPet")).toContain("can't be read as YAML");
    expect(await problemOf({ openapi: "4.0.0" }, "getPet")).toContain('has the version "4.0.0"');
    site.answers.push({ status: 404, body: "secret words" });
    const run = await runOf(server, call("getPet"));
    expect(run.error).toMatchObject({ status: 404, detail: expect.stringContaining("answered 404 instead of") });
    const away = {
      ...PETS,
      paths: { "/a": { get: { operationId: "a", parameters: [{ $ref: `${site.url}/more.json` }] } } },
    };
    expect(await problemOf(away, "a")).toContain("only references within the document are followed");
    const circle = { ...PETS, paths: { "/a": { $ref: "#/paths/~1b" }, "/b": { $ref: "#/paths/~1a" } } };
    expect(await problemOf(circle, "a")).toContain("references that lead to each other");
  });
});

describe("a large document", () => {
  /** With as many operations as fit into so many bytes. */
  const large = (bytes: number): string => {
    const paths: Record<string, object> = {};
    for (let at = 0; at < 10_000; at++)
      paths[`/things${at}/{id}`] = { get: { operationId: `getThing${at}`, description: "x".repeat(500) } };
    const text = JSON.stringify({ openapi: "3.1.0", servers: [{ url: site.url }], paths, more: "" });
    return text.replace('"more":""', `"more":"${"x".repeat(bytes - text.length)}"`);
  };

  test("as large as one may be is read, and a larger one is not", async () => {
    const text = large(LIMITS.openapiDocumentBytes);
    expect(text.length).toBe(LIMITS.openapiDocumentBytes);
    const { run, asked } = await called(text, "getThing9999", { id: 7 });
    expect([run.error, asked?.url]).toEqual([null, "/things9999/7"]);
    expect(await problemOf(`${text} `, "getThing9999", { id: 7 })).toContain("communication: ");
    expect(await problemOf(text, "other", { id: 7 })).toContain("it has 10000, such as getThing0");
  });

  test("holds up nobody", async () => {
    await using own = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
    const text = large(LIMITS.openapiDocumentBytes);
    let count = 0;
    const read = async (): Promise<void> => {
      site.answers.push({ body: text });
      expect((await runOf(own, call(`getThing${count++}`, { id: 7 }))).error).toBeNull();
    };
    expect(await stretchMs(own, read)).toBeLessThan(MAIN_THREAD_MS);
  });

  test("that never comes is given up", async () => {
    site.answer = "held";
    const id = await start(server, await agentOf(server, call("getPet")));
    await eventually(async () => site.held === 1);
    await server.clock.advance(LIMITS.openapiFetchSeconds * 1_000);
    const run = await until(server, id, "failed");
    expect(run.error).toMatchObject({
      type: expect.stringContaining("timeout"),
      detail: expect.stringContaining("30 s"),
    });
  });
});

/** The language over the wire: what a call sends, by its method and its Content-Type, and what it refuses to send. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startEndpoint, type Endpoint } from "./endpoint.ts";
import { type Data } from "./client.ts";
import { runOf } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await startEndpoint();
  server = await sharedServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});
beforeEach(() => endpoint.reset());

const FORM = "headers: {Content-Type: application/x-www-form-urlencoded}";
const typed = (type: string): string => `headers: {content-type: '${type}'}`;

const call = (values: string, at = endpoint.url): string => {
  const method = values.startsWith("method: ") ? "" : "method: post, ";
  const target = values.includes("endpoint: ") ? "" : `endpoint: '${at}', `;
  return `do: [{c: {call: http, with: {${method}${target}${values}}}}]`;
};
const sent = async (values: string, input: object = {}): Promise<Data> => {
  const { status, error } = await runOf(server, call(values), input);
  return status === "completed" ? endpoint.seen.at(-1)! : error;
};
/** The problems that validating finds: `severity path message`. */
async function problemsOf(values: string): Promise<string[]> {
  const definition = `document: {dsl: 1.0.3, namespace: test, name: body, version: 1.0.0}\n${call(values, "https://example.com")}`;
  const { validateDefinition } = await server.data(
    "query($definition: String!) { validateDefinition(definition: $definition) { problems { severity path message } } }",
    { definition },
  );
  return validateDefinition.problems.map(
    ({ severity, path, message }: Data) => `${severity} ${path.replace("/do/0/c/with", "")} ${message}`,
  );
}

describe("a body goes out with any method", () => {
  test.each(["get", "head", "options", "delete", "put", "patch", "post"])("%s", async (method) => {
    expect(await sent(`method: ${method}, body: {query: {match_all: {}}}`)).toMatchObject({
      method: method.toUpperCase(),
      body: '{"query":{"match_all":{}}}',
      headers: { "content-type": "application/json", "content-length": "26" },
    });
  });

  test("also after calls whose connections are kept, and one of null is none", async () => {
    await sent("method: get, body: one");
    expect(await sent("method: get, body: '${ .nosuch }'")).toMatchObject({ method: "GET", body: "" });
    expect(endpoint.seen.map(({ body }) => body)).toEqual(["one", ""]);
    expect(endpoint.seen[1]!.headers).not.toHaveProperty("content-type");
  });

  test("validating warns that many services ignore that of a GET or HEAD", async () => {
    for (const method of ["get", "HEAD"]) {
      expect(await problemsOf(`method: ${method}, body: {a: 1}`)).toEqual([
        expect.stringMatching(/^warning \/body the body is sent, but many services ignore the body of a GET or HEAD/),
      ]);
    }
    expect(await problemsOf("method: delete, body: {a: 1}")).toEqual([]);
    expect(await problemsOf("method: get")).toEqual([]);
  });
});

describe("a body that is an object", () => {
  test.each([
    ["without a type, as JSON", "x: 1", '{"a":1}'],
    ["of a JSON type", typed("application/vnd.api+json; ext=x"), '{"a":1}'],
    ["of a type of its own, as JSON", typed("application/x-amz-json-1.1"), '{"a":1}'],
    ["of a form's type, as a form", FORM, "a=1"],
    ["of a form's type in capitals", typed("APPLICATION/X-WWW-Form-Urlencoded; charset=utf-8"), "a=1"],
  ])("%s", async (_, headers, body) => {
    expect(await sent(`${headers === "x: 1" ? "" : `${headers}, `}body: {a: 1}`)).toMatchObject({ body });
  });

  test("a form has texts, numbers, true and false; lists are fields again and again; null is left out", async () => {
    const body = `{a: 'b c&d=é', n: '\${ .n }', yes: true, no: null, list: '\${ .list }', 'k ü': ''}`;
    expect(await sent(`${FORM}, body: ${body}`, { n: 1.5, list: ["x", 2, null] })).toMatchObject({
      body: "a=b+c%26d%3D%C3%A9&n=1.5&yes=true&list=x&list=2&k+%C3%BC=",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
  });

  test("long numbers keep their digits, in a form and in the error that an answer is", async () => {
    const json = { headers: { "content-type": "application/json" }, body: '{"id":820982911946154508}' };
    endpoint.answers = [json, {}, { status: 409, ...json }];
    const get = `{get: {call: http, with: {method: get, endpoint: '${endpoint.url}'}}}`;
    const post = `call: http, with: {method: post, endpoint: '${endpoint.url}', ${FORM}, body: `;
    const { output } = await runOf(
      server,
      `do: [${get}, {form: {${post}{id: '\${ .id }', ids: ['\${ .id }']}}}}, {t: {try: [${get}], catch: {do: [{s: {set: {it: '\${ $error.response.body | tojson }'}}}]}}}]`,
    );
    expect(endpoint.seen[1]!.body).toBe("id=820982911946154508&ids=820982911946154508");
    expect(output).toEqual({ it: '{"id":820982911946154508}' });
  });

  test("a text is sent as it is, whatever its type", async () => {
    expect(await sent(`${FORM}, body: 'a=1&b=2'`)).toMatchObject({ body: "a=1&b=2" });
    expect(await sent(`${typed("multipart/form-data; boundary=x")}, body: "--x--"`)).toMatchObject({ body: "--x--" });
  });

  const A_FORM = "a form is sent from an object of texts, numbers, true and false, or lists of these";
  const AS_TEXT = "write the body as text, or leave out the header and send JSON";
  test.each([
    [
      "an object in a form",
      FORM,
      "{a: {b: 1}}",
      "/body/a",
      `is an object; ${A_FORM}, and \`tojson\` makes a text of anything`,
    ],
    [
      "a list in a list",
      FORM,
      "{a: [1, [2]]}",
      "/body/a/1",
      `is a list; ${A_FORM}, and \`tojson\` makes a text of anything`,
    ],
    ["a list as a form", FORM, "[1]", "/body", `is a list; ${A_FORM}`],
    ["a number as a form", FORM, "5", "/body", `is a number; ${A_FORM}`],
    [
      "multipart",
      typed("Multipart/Form-Data; boundary=x"),
      "{a: 1}",
      "/body",
      `is an object, which can't be sent as multipart/form-data; ${AS_TEXT}`,
    ],
    [
      "XML",
      typed("application/soap+xml"),
      "{a: 1}",
      "/body",
      `is an object, which can't be sent as application/soap+xml; ${AS_TEXT}`,
    ],
  ])(
    "what can't be sent is refused, when it is written and when it is made: %s",
    async (_, headers, body, place, message) => {
      expect(await problemsOf(`${headers}, body: ${body}`)).toEqual([`error ${place} this ${message}`]);
      const json = body.replaceAll(/(\w+):/g, '"$1":');
      expect(await sent(`${headers}, body: '\${ ${json} }'`)).toMatchObject({
        type: expect.stringMatching(/\/validation$/),
        status: 400,
        detail: `/do/0/c/with${place} ${message}, so nothing was sent`,
      });
      expect(endpoint.seen).toEqual([]);
    },
  );

  test("letters beyond ASCII under another charset are refused: all is sent in UTF-8", async () => {
    expect(await sent(`${typed("application/xml; charset=ISO-8859-1")}, body: <a>é</a>`)).toMatchObject({
      type: expect.stringMatching(/\/validation$/),
      detail: expect.stringMatching(/^the body is sent in UTF-8, but its Content-Type says charset=ISO-8859-1/),
    });
    expect(await sent(`${typed("text/plain; charset=ISO-8859-1")}, body: abc`)).toMatchObject({ body: "abc" });
    expect(await sent(`${typed("text/plain; charset=UTF-8")}, body: é`)).toMatchObject({ body: "é" });
  });
});

describe("half of a surrogate pair", () => {
  const HALF = "contains half of a surrogate pair, which can't be sent";
  const WITH = "/do/0/c/with";
  test.each([
    ["a name in a path", "endpoint: '@/{half}'", `{half} in ${WITH}/endpoint ${HALF}, so nothing was sent`],
    ["an expression's URL", "endpoint: '${ \"@/\" + .half }'", `${WITH}/endpoint ${HALF}, so nothing was sent`],
    ["a parameter", "query: {q: '${ .half }'}", `${WITH}/query/q ${HALF}, so nothing was sent`],
    ["the name of one", "query: '${ {(.half): 1} }'", `${WITH}/query ${HALF}, so nothing was sent`],
    ["a text body", "body: '${ .half }'", `${WITH}/body ${HALF}, so nothing was sent`],
    ["a form", `${FORM}, body: {a: ['\${ .half }']}`, `${WITH}/body/a/0 ${HALF}, so nothing was sent`],
    [
      "a form's name",
      `${FORM}, body: '\${ {(.half): 1} }'`,
      `${WITH}/body has a name that ${HALF}, so nothing was sent`,
    ],
    ["a header", "headers: {X-One: '${ .half }'}", "the value of the header x-one has characters that can't be sent"],
    [
      "a password",
      "endpoint: {uri: '@', authentication: {basic: {username: somebody, password: '${ .half }'}}}",
      `the authentication's password ${HALF}, so nothing was sent`,
    ],
    [
      "a client's id",
      "endpoint: {uri: '@', authentication: {oauth2: {authority: '@', grant: client_credentials, client: {id: '${ .half }', secret: of-the-client}}}}",
      `the authentication's id ${HALF}, so nothing was sent`,
    ],
    [
      "a scope",
      "endpoint: {uri: '@', authentication: {oauth2: {authority: '@', grant: client_credentials, client: {id: own, secret: of-the-client}, scopes: ['${ .half }']}}}",
      `the authentication's scopes ${HALF}, so nothing was sent`,
    ],
    ["jq's bytes in a path", "endpoint: '${ \"@/\\(.half | @uri)\" }'", /half of a surrogate pair/],
    ["jq's bytes in a body", "body: '${ .half | @base64 }'", /half of a surrogate pair/],
  ])("is refused where it can't be sent: %s", async (_, values, detail) => {
    const error = await sent(values.replaceAll("@/", `${endpoint.url}/`).replaceAll("'@'", `'${endpoint.url}'`), {
      half: "a\ud800b",
    });
    expect(error).toMatchObject({ detail: typeof detail === "string" ? detail : expect.stringMatching(detail) });
    expect(endpoint.seen).toEqual([]);
  });

  test("is kept in JSON, as it is written there, and through jq", async () => {
    const half = "a\ud800b";
    expect(JSON.parse((await sent("body: {a: '${ .half }', b: '${ .half | ascii_upcase }'}", { half })).body)).toEqual({
      a: half,
      b: "A\ud800B",
    });
  });
});

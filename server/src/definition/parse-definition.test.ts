import { describe, expect, test } from "vitest";
import { KINDS } from "./tasks/kinds.ts";
import { EVERYTHING, problemsOf, problemsOfTask, whole } from "./definitions.fixture.ts";
import { parseDefinition } from "./parse-definition.ts";

/** `line:column path message` of each problem. */
const told = (text: string): string[] =>
  parseDefinition(text).problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`);

test("every part of the profile is taken", () => {
  const { problems, workflow } = parseDefinition(EVERYTHING);
  expect(problems).toEqual([]);
  expect(workflow?.document.version).toBe("1.2.3-rc.1+build.5");
  expect(workflow?.do).toHaveLength(Object.keys(KINDS).length);
});

test("JSON is read too, with the places of its parts", () => {
  const json = JSON.stringify(
    {
      document: { dsl: "1.0.3", namespace: "demo", name: "json", version: "1.0.0", title: "😀 \u2028" },
      do: [{ a: { set: { b: "\u0000\ud800" } } }],
    },
    null,
    "\t",
  );
  expect(parseDefinition(json).workflow).toEqual(JSON.parse(json));
  expect(told(json.replace('"set"', '"sett"'))).toEqual(['12:5 /do/0/a/sett "sett" is not known; did you mean "set"?']);
});

test("ten mistakes are ten problems, in the order of the text, each with its line and column", () => {
  const text = `document:
  dsl: '2.0.0'
  namespace: Demo
  name: ten
  version: 1.0
do:
  - fetch:
      call: http
      with:
        method: GETT
        endpont: https://example.com
      then: nowhere
  - fetch:
      set: {a: 'Hello \${ .name }'}
      if: true
  - pause:
      wait: P1M
  - broken:
    call: grpc
  - try it:
      try: [{x: {wait: PT1S}}]
      catch: {retry: slow}
`;
  expect(told(text)).toEqual([
    '2:8 /document/dsl "dsl" does not fit; write the version of the language, "1.0.3"',
    '3:14 /document/namespace "namespace" does not fit; write 1 to 63 lower-case letters, digits and hyphens, such as billing',
    '5:12 /document/version "version" must be text, not a number; write three numbers with dots, such as "1.0.0"',
    '10:17 /do/0/fetch/with/method "method" must not be "GETT"; did you mean "GET"?',
    '11:9 /do/0/fetch/with/endpont "endpont" is not known in the arguments of http; did you mean "endpoint"?',
    '12:13 /do/0/fetch/then there is no task "nowhere" in this list; known here: fetch, pause, try it, continue, exit, end',
    '13:5 /do/1/fetch there is another task "fetch" in this list; give each its own name',
    '14:16 /do/1/fetch/set/a text and ${ } are mixed; write one expression, such as ${ "Hello \\(.name)" }',
    '15:11 /do/1/fetch/if "if" must be text, not true or false; write an expression in quotes, such as "${ .total > 100 }"',
    "17:13 /do/2/pause/wait years and months have no fixed length; write days, such as P30D",
    "18:5 /do/3 item 4 has more than one key; write one task per list item, as `- name:` with its keys indented below the name",
    '22:22 /do/4/try it/catch/retry there is no retry policy "slow" under use.retries',
  ]);
  expect(parseDefinition(text).workflow).toBeUndefined();
});

test("at most a hundred problems are reported", () => {
  const text = whole(`do:\n${Array.from({ length: 300 }, (_, index) => `  - t${index}: {wait: soon}\n`).join("")}`);
  expect(parseDefinition(text).problems).toHaveLength(100);
});

describe("document", () => {
  const ofDocument = (fields: string): string[] =>
    problemsOf(`document: {dsl: '1.0.3', namespace: demo, name: sample, version: '1.0.0', ${fields}}\n`).map(
      ([path, message]) => `${path} ${message}`,
    );

  test.each([
    ["titel: A", '/document/titel "titel" is not known in document; did you mean "title"?'],
    ['title: "a\\nb"', '/document/title "title" does not fit; write one line of text'],
    ['title: "a\\0"', '/document/title "title" does not fit; write one line of text'],
    ['summary: "a\\0"', '/document/summary "summary" does not fit; write text without control characters'],
    ['summary: "\\ud800"', '/document/summary "summary" does not fit; write text without control characters'],
    [
      "tags: {a: [1]}",
      '/document/tags/a "a" must be text or a number or true or false, not a list; write one word or number',
    ],
  ])("%s", (fields, message) => expect(ofDocument(fields)).toEqual([message]));

  test("a missing part is reported where it belongs", () => {
    expect(told("document:\n  dsl: '1.0.3'\ndo: []\n")).toEqual([
      '1:1 /document/name "name" is missing in document',
      '1:1 /document/namespace "namespace" is missing in document',
      '1:1 /document/version "version" is missing in document',
      '3:5 /do "do" is empty; write a list of tasks, each as `- name:` with its keys below',
    ]);
  });
});

describe("call: mcp", () => {
  const HTTP = "transport: {http: {endpoint: 'https://example.com/mcp'}}";
  test.each([
    [`method: tools/forget, ${HTTP}`, "/method", "must be one of"],
    [`method: tools/call, ${HTTP}`, "/method", "tools/call needs parameters with name"],
    [`method: resources/read, parameters: {name: a}, ${HTTP}`, "/parameters", "resources/read needs uri here"],
    [`method: tools/list, parameters: all, ${HTTP}`, "/parameters", "write names with values here"],
    ["method: tools/list, transport: {stdio: {command: '${ .a }'}}", "/transport/stdio/command", "is a fixed text"],
    ["method: tools/list, transport: {stdio: {command: ' '}}", "/transport/stdio/command", "the command is empty"],
    [
      "method: tools/list, transport: {stdio: {command: a, environment: {a-b: c}}}",
      "/transport/stdio/environment/a-b",
      "this is not the name of an environment variable",
    ],
    [
      "method: tools/list, transport: {stdio: {command: a, arguments: ['${ $secrets.token }']}}",
      "/transport/stdio/arguments/0",
      "$secrets",
    ],
    [`method: tools/list, parameters: {a: 'b \${ .c }'}, ${HTTP}`, "/parameters/a", "text and ${ } are mixed"],
    [`method: tools/list, protocolVersion: '2024-11-05', ${HTTP}`, "/protocolVersion", 'must not be "2024-11-05"'],
    [`method: tools/list, onError: collect, ${HTTP}`, "/onError", "must be one of"],
    [`method: tools/list, client: {name: a}, ${HTTP}`, "/client/version", '"version" is missing in client'],
    [
      "method: tools/list, transport: {http: {endpoint: 'ftp://example.com'}}",
      "/transport/http/endpoint",
      "must begin with https:// or http://",
    ],
    [
      "method: tools/list, transport: {http: {endpoint: 'https://example.com', headers: {Mcp-Method: a}}}",
      "/transport/http/headers/Mcp-Method",
      "is set by the call itself",
    ],
  ])("%s", (given, place, message) => {
    expect(problemsOfTask(`{call: mcp, with: {${given}}}`)).toEqual([
      [`/with${place}`, expect.stringContaining(message)],
    ]);
  });
});

describe("parts of the DSL that are not taken, with a sentence that says so", () => {
  const later = "is part of the language but not yet run by this release";
  test.each([
    ["{run: {script: {language: python, code: '1'}}}", "/run/script/language", "write js"],
    [
      "{run: {script: {language: js, code: '1', source: {endpoint: 'https://example.com/a.js'}}}}",
      "/run/script/source",
      "a script from elsewhere is not accepted",
    ],
    ["{run: {script: {language: js, code: '1', stdin: a}}}", "/run/script/stdin", "a script is no process"],
    ["{run: {script: {language: js, code: '1', environment: {A: b}}}}", "/run/script/environment", "no process"],
    ["{run: {script: {language: js, code: '1', arguments: [a]}}}", "/run/script/arguments", "each as `name: value`"],
    ["{run: {script: {language: js, code: '1'}, await: false}}", "/run/await", "a script's output is awaited"],
    ["{run: {container: {image: a}}}", "/run/container", "run: container is not run"],
    ["{run: {shell: {command: ls}}}", "/run/shell", "run: shell is not run"],
    ["{call: a2a, with: {}}", "/call", `call: a2a ${later}`],
    ["{call: grpc, with: {}}", "/call", "call: grpc is not run; call the service over http instead"],
    ["{call: asyncapi, with: {}}", "/call", "call: asyncapi is not run; call the broker over http instead"],
    ["{call: email, with: {}}", "/call", "write the whole name: email:1.0.0@default"],
    ["{call: 'email:1.0.0@default', with: {to: ada, subject: a}}", "/with/to", "this is no e-mail address"],
    [
      "{call: 'email:1.0.0@default', with: {to: [a@b.c, 'b@c.d, e@f.g'], subject: a}}",
      "/with/to/1",
      "no e-mail address",
    ],
    ["{call: 'email:1.0.0@default', with: {to: a@b.c, from: a@b.c, subject: a}}", "/with/from", "from"],
    ["{call: 'log:1.0.0@global', with: {}}", "/call", "the catalogue global is not accepted"],
    ["{call: 'log:1.0.0@default', with: {}}", "/call", "the catalogue default has no log; it has approval:1.0.0"],
    [
      "{call: 'approval:2.0.0@default', with: {}}",
      "/call",
      "approval has the version 1.0.0; write approval:1.0.0@default",
    ],
    ["{call: approval, with: {}}", "/call", "write the whole name: approval:1.0.0@default"],
    ["{call: 'each:1.1.0@default', with: {}}", "/call", "each has the version 1.0.0; write each:1.0.0@default"],
    ["{call: each, with: {}}", "/call", "write the whole name: each:1.0.0@default"],
    ["{call: notify, with: {}}", "/call", "there is nothing to call by this name"],
  ])("%s", (task, path, message) => {
    const [problem, ...more] = problemsOfTask(task);
    expect(problem![0]).toBe(path);
    expect(problem![1]).toContain(message);
    expect(more).toEqual([]);
  });

  test.each([
    ["schedule: {cron: '0 * * * *'}", "/schedule/cron", "write a trigger of type cron in document.metadata.triggers"],
    ["schedule: {every: PT15M}", "/schedule/every", '"*/15 * * * *" for every 15 minutes'],
    [
      "schedule: {after: PT1H}",
      "/schedule/after",
      "to run again some time after each run, write a trigger of type event",
    ],
    ["schedule: {on: {one: {with: {type: a.b}}}}", "/schedule/on", "write a trigger of type event"],
    ["schedule: {}", "/schedule", "write a trigger of type cron or event"],
    ["schedule: daily", "/schedule", "write a trigger of type cron or event"],
    ["evaluate: {mode: loose}", "/evaluate/mode", "mode loose is not accepted"],
    ["use: {extensions: []}", "/use/extensions", "use.extensions is not accepted"],
    ["use: {catalogs: {}}", "/use/catalogs", "use.catalogs is not accepted"],
    ["use: {secrets: key}", "/use/secrets", "must be a list, not text"],
    ["use: {secrets: [two words]}", "/use/secrets/0", "write the name of a secret"],
    ["use: {functions: {a: {call: http}}}", "/use/functions/a/with", '"with" is missing'],
    [
      "use: {authentications: {a: {oauth2: {authority: 'https://a.example', grant: authorization_code, client: {id: a, secret: b}}}}}",
      "/use/authentications/a/oauth2/grant",
      "for authorization_code nobody is there to sign in",
    ],
    [
      "use: {authentications: {a: {oauth2: {authority: 'https://u:p@a.example', grant: client_credentials, client: {id: a, secret: b}}}}}",
      "/use/authentications/a/oauth2/authority",
      "the authority is a URL without user, query and fragment",
    ],
    [
      "use: {authentications: {a: {oauth2: {authority: 'https://a.example', endpoints: {token: token}, grant: client_credentials, client: {id: a, secret: b}}}}}",
      "/use/authentications/a/oauth2/endpoints/token",
      "this is a path below the authority",
    ],
    ["use: {authentications: {a: {oidc: {}}}}", "/use/authentications/a/oidc", '"oidc" is empty; write authority and'],
    [
      "use: {authentications: {a: {certificate: {}}}}",
      "/use/authentications/a/certificate",
      "neither says what it contains",
    ],
    [
      "use: {authentications: {a: {basic: {use: key}}}}",
      "/use/authentications/a/basic/use",
      'the secret "key" is not listed under use.secrets',
    ],
    [
      "output: {schema: {resource: {endpoint: https://example.com}}}",
      "/output/schema/resource",
      "a schema from elsewhere is not accepted",
    ],
    ["output: {schema: {document: {pattern: a}}}", "/output/schema/document/pattern", "pattern is not accepted"],
    [
      "output: {schema: {document: {items: {$ref: '#'}}}}",
      "/output/schema/document/items/$ref",
      "references between schemas are not accepted",
    ],
  ])("%s", (part, path, message) => {
    const problems = problemsOf(part).filter(([where]) => where === path);
    expect(problems).toHaveLength(1);
    expect(problems[0]![1]).toContain(message);
  });
});

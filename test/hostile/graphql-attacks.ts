/**
 * Attacks by what a GraphQL request says, as a table: what is sent, and how a caller and a stranger are answered. A stranger's
 * document is parsed only up to `strangerQueryCharacters`, and a body read up to `strangerBodyBytes`.
 */
import type { Code } from "../../server/src/lib/errors.ts";
import { LIMITS } from "../../server/src/lib/limits.ts";

/**
 * `unread`: UNAUTHENTICATED before anything is parsed. `… of a field`: the others of the operation would be answered. `closed …`: a
 * WebSocket is. `cut`: it is closed, unless all of the message came in one piece; then that is refused.
 */
export type Outcome = "answered" | "unread" | "cut" | Code | `${Code} of a field` | `closed ${number}`;
export type Attack = {
  what: string;
  /** The body of a request, or the payload of a WebSocket's `subscribe`: as text, because it may be no JSON. */
  body: string;
  caller: Outcome;
  stranger: Outcome;
  /** Where a WebSocket differs: what is no message closes it. */
  socket: { caller: Outcome; stranger: Outcome };
};

type Expected = Pick<Attack, "caller"> & Partial<Pick<Attack, "stranger">> & { socket?: Outcome };

const INVALID = "closed 4400";

function attack(what: string, body: string, { caller, stranger = caller, socket }: Expected): Attack {
  const bytes = Buffer.byteLength(body);
  if (bytes > LIMITS.bodyBytes)
    return {
      what,
      body,
      caller: "REQUEST_ENTITY_TOO_LARGE",
      stranger: "REQUEST_ENTITY_TOO_LARGE",
      socket: { caller: "closed 1009", stranger: "cut" },
    };
  const isCut = bytes > LIMITS.strangerBodyBytes;
  return {
    what,
    body,
    caller,
    stranger: isCut ? "REQUEST_ENTITY_TOO_LARGE" : stranger,
    socket: { caller: socket ?? caller, stranger: isCut ? "cut" : (socket ?? stranger) },
  };
}

/** A document, and what goes with it. */
function document(what: string, query: string, caller: Outcome, more: object = {}, stranger: Outcome = caller): Attack {
  const isUnread = query.length > LIMITS.strangerQueryCharacters;
  return attack(what, JSON.stringify({ query, ...more }), { caller, stranger: isUnread ? "unread" : stranger });
}

/** It would be answered, had the stranger a credential. */
const forCallers = (what: string, query: string, more: object = {}): Attack =>
  document(what, query, "answered", more, "UNAUTHENTICATED");

/** No JSON object that is a request. */
const misfit = (what: string, body: string): Attack => attack(what, body, { caller: "BAD_REQUEST", socket: INVALID });

const times = (count: number, text: string | ((index: number) => string)): string =>
  Array.from({ length: count }, (_, index) => (typeof text === "string" ? text : text(index))).join(" ");
const nest = (depth: number, open: string, close: string, middle = ""): string =>
  open.repeat(depth) + middle + close.repeat(depth);

const TYPENAME = '{"query":"{ __typename }"';
const DEPTHS = [100, 1_000, 10_000, 100_000];

const nesting: Attack[] = DEPTHS.flatMap((depth) => [
  document(`${depth} selection sets`, nest(depth, "{a", "}"), "QUERY_TOO_COMPLEX"),
  document(`${depth} fragments within fragments`, nest(depth, "{...", "}", "{__typename}"), "QUERY_TOO_COMPLEX"),
  document(
    `${depth} lists as an argument`,
    `{runs(first:${nest(depth, "[", "]", "1")}){nodes{id}}}`,
    "QUERY_TOO_COMPLEX",
  ),
  document(`${depth} input objects`, `{runs(filter:${nest(depth, "{a:", "}", "1")}){nodes{id}}}`, "QUERY_TOO_COMPLEX"),
  document(`${depth} lists in a type`, `query($a:${nest(depth, "[", "]", "Int")}){__typename}`, "QUERY_TOO_COMPLEX"),
  document(`${depth} parentheses`, nest(depth, "(", ")"), "QUERY_TOO_COMPLEX"),
  document(`${depth} brackets that never close`, `{${"[".repeat(depth)}`, "QUERY_TOO_COMPLEX"),
  misfit(`${depth} lists in variables`, `${TYPENAME},"variables":{"a":${nest(depth, "[", "]")}}}`),
  misfit(`${depth} objects in variables`, `${TYPENAME},"variables":${nest(depth, '{"a":', "}", "1")}}`),
  misfit(`${depth} lists in extensions`, `${TYPENAME},"extensions":{"a":${nest(depth, "[", "]")}}}`),
  misfit(`${depth} lists that never close`, "[".repeat(depth)),
]);

const closing: Attack[] = [
  document(`${DEPTHS[0]} brackets that close what never opened`, "}".repeat(100), "GRAPHQL_PARSE_FAILED"),
  document("13 levels", nest(13, '{node(id:"x")', "}", "{id}"), "QUERY_TOO_COMPLEX"),
  document(
    "13 levels of fragments",
    `{...f0} ${times(12, (n) => `fragment f${n} on Query{node(id:"x"){...on Query{...f${n + 1}}}}`)} fragment f12 on Query{me{id}}`,
    "QUERY_TOO_COMPLEX",
  ),
];

const floods: Attack[] = [
  document("31 aliases", `{${times(31, (n) => `a${n}:__typename`)}}`, "QUERY_TOO_COMPLEX"),
  document("1,000 aliases", `{${times(1_000, (n) => `a${n}:me{id}`)}}`, "QUERY_TOO_COMPLEX"),
  document("10,000 aliases", `{${times(10_000, (n) => `a${n}:__typename`)}}`, "QUERY_TOO_COMPLEX"),
  document("an alias of 101 characters", `{${"a".repeat(101)}:__typename}`, "QUERY_TOO_COMPLEX"),
  document("101 fields of one name", `{${times(101, "__typename")}}`, "QUERY_TOO_COMPLEX"),
  document("1,990 fields", `{${times(1_990, (n) => `f${n % 90}`)}}`, "GRAPHQL_VALIDATION_FAILED"),
  document("2,001 tokens", `{${times(2_001, "f")}}`, "QUERY_TOO_COMPLEX"),
  document("20,000 fields", `{${times(20_000, "f")}}`, "QUERY_TOO_COMPLEX"),
  document("6 directives", `{__typename ${times(6, "@skip(if:false)")}}`, "QUERY_TOO_COMPLEX"),
  document("1,000 directives that there are not", `{__typename ${times(1_000, (n) => `@d${n}`)}}`, "QUERY_TOO_COMPLEX"),
  document("6 directives of the operation", `query ${times(6, "@a")} {__typename}`, "QUERY_TOO_COMPLEX"),
  document(
    "90 fragments that nobody spreads",
    `{__typename} ${times(90, (n) => `fragment f${n} on Query{me{id}}`)}`,
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document(
    "1,000 fragments",
    `{__typename} ${times(1_000, (n) => `fragment f${n} on Query{me{id}}`)}`,
    "QUERY_TOO_COMPLEX",
  ),
  document("300 spreads of one fragment", `{${times(300, "...f")}} fragment f on Query{__typename}`, "answered"),
  document(
    "400 variables that nobody uses",
    `query(${times(400, (n) => `$a${n}:Int`)}){__typename}`,
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document(
    "90 operations",
    times(90, (n) => `query q${n}{__typename}`),
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document("49,000 commas", `{__typename${",".repeat(49_000)}}`, "answered"),
  document("a comment of 49,000 characters", `{__typename} #${"x".repeat(49_000)}`, "answered"),
  document("10,000 comments", `{__typename}${"\n#".repeat(10_000)}`, "answered"),
  document("10,050 objects", "{runs(first:200){nodes{steps(first:50){name}}}}", "QUERY_TOO_COMPLEX"),
  document("a number of objects beyond 32 bits", "{runs(first:9999999999){nodes{id}}}", "GRAPHQL_VALIDATION_FAILED"),
  attack(
    "5,000 variables that nobody declares",
    JSON.stringify({
      query: "{__typename}",
      variables: Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`v${n}`, n])),
    }),
    { caller: "answered" },
  ),
];

const fragments: Attack[] = [
  document("a fragment of itself", "{...f} fragment f on Query{...f}", "GRAPHQL_VALIDATION_FAILED"),
  document(
    "a fragment of itself that nobody spreads",
    "{__typename} fragment f on Query{...f}",
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document(
    "two fragments of each other",
    "{...a} fragment a on Query{...b} fragment b on Query{...a}",
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document(
    "a ring of 40 fragments",
    `{...f0} ${times(40, (n) => `fragment f${n} on Query{...f${(n + 1) % 40}}`)}`,
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document("a ring below a field", "{me{...f}} fragment f on User{id ...on User{...f}}", "GRAPHQL_VALIDATION_FAILED"),
  document(
    "a chain that doubles 40 times",
    `{...f0} ${times(39, (n) => `fragment f${n} on Query{...f${n + 1} ...f${n + 1}}`)} fragment f39 on Query{me{id}}`,
    "QUERY_TOO_COMPLEX",
  ),
  document(
    "a chain that grows tenfold 10 times",
    `{...f0} ${times(9, (n) => `fragment f${n} on Query{${times(10, `...f${n + 1}`)}}`)} fragment f9 on Query{me{id}}`,
    "QUERY_TOO_COMPLEX",
  ),
  document(
    "one fragment twice",
    "{...f} fragment f on Query{__typename} fragment f on Query{__typename}",
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document("a fragment that there is not", "{...f}", "GRAPHQL_VALIDATION_FAILED"),
];

const batches: Attack[] = [
  misfit("a batch of two", '[{"query":"{ __typename }"},{"query":"{ __typename }"}]'),
  misfit("a batch of one", '[{"query":"{ __typename }"}]'),
  misfit("a batch of none", "[]"),
  misfit(
    "a batch of 1,000 sign-ins",
    JSON.stringify(
      Array.from({ length: 1_000 }, () => ({ query: 'mutation{login(email:"a@b.c",password:"x"){accessToken}}' })),
    ),
  ),
  document(
    "two sign-ins in one operation",
    'mutation{a:login(email:"a@b.c",password:"x"){accessToken} b:login(email:"a@b.c",password:"y"){accessToken}}',
    "GRAPHQL_VALIDATION_FAILED",
  ),
];

const IDS = "query($f:RunFilter){runs(filter:$f){nodes{id}}}";
const values: Attack[] = [
  document(
    "101 items in a variable",
    IDS,
    "BAD_USER_INPUT",
    { variables: { f: { projectId: Array.from({ length: 101 }, () => "x") } } },
    "UNAUTHENTICATED",
  ),
  document(
    "5,000 items in a variable",
    IDS,
    "BAD_USER_INPUT",
    { variables: { f: { projectId: Array.from({ length: 5_000 }, () => "x") } } },
    "UNAUTHENTICATED",
  ),
  document(
    "101 items in the document",
    `{runs(filter:{projectId:[${times(101, '"x"')}]}){nodes{id}}}`,
    "BAD_USER_INPUT of a field",
    {},
    "UNAUTHENTICATED",
  ),
  document("a text of 900 kB", "query($a:ID!){run(id:$a){id}}", "NOT_FOUND", { variables: { a: "x".repeat(900_000) } }),
  document("a text of 40 kB in the document", `{run(id:"${"x".repeat(40_000)}"){id}}`, "NOT_FOUND"),
  document("a text of 60 kB in the document", `{run(id:"${"x".repeat(60_000)}"){id}}`, "QUERY_TOO_COMPLEX"),
  document("a body over 1 MiB", "{__typename}", "answered", { variables: { a: "x".repeat(LIMITS.bodyBytes) } }),
  document("a number of 40,000 digits", `{runs(first:${"9".repeat(40_000)}){nodes{id}}}`, "GRAPHQL_VALIDATION_FAILED"),
  misfit("a number beyond all numbers", `${TYPENAME},"variables":{"a":1e9999999}}`),
  document(
    "a text for a number",
    "query($a:Int){runs(first:$a){nodes{id}}}",
    "BAD_USER_INPUT",
    { variables: { a: "1" } },
    "UNAUTHENTICATED",
  ),
  document(
    "an object for a text",
    "query($a:ID!){run(id:$a){id}}",
    "BAD_USER_INPUT",
    { variables: { a: { b: 1 } } },
    "UNAUTHENTICATED",
  ),
  document(
    "null for what is required",
    "query($a:ID!){run(id:$a){id}}",
    "BAD_USER_INPUT",
    { variables: { a: null } },
    "UNAUTHENTICATED",
  ),
  document("a variable that is missing", "query($a:ID!){run(id:$a){id}}", "BAD_USER_INPUT", {}, "UNAUTHENTICATED"),
  document("a variable of a type that there is not", "query($a:Nothing){__typename}", "GRAPHQL_VALIDATION_FAILED"),
  document("a variable of an output type", "query($a:Run){__typename}", "GRAPHQL_VALIDATION_FAILED"),
];

const texts: Attack[] = [
  document("nothing", "", "GRAPHQL_PARSE_FAILED"),
  document("a comment alone", "# nothing", "GRAPHQL_PARSE_FAILED"),
  document("an operation that does not end", "{ me { id }", "GRAPHQL_PARSE_FAILED"),
  document("a string that does not end", '{ run(id: "x) { id } }', "GRAPHQL_PARSE_FAILED"),
  document("a string over two lines", '{ run(id: "x\n") { id } }', "GRAPHQL_PARSE_FAILED"),
  document("a block string that does not end", '{ run(id: """x) { id } }', "GRAPHQL_PARSE_FAILED"),
  document(
    "40,000 characters of a block string that does not end",
    `{ run(id: """${'"" '.repeat(13_000)}`,
    "GRAPHQL_PARSE_FAILED",
  ),
  document(
    "brackets that a block string hides from a counter",
    `{ run(id: """\\"""${"[".repeat(100)}""") { id } }`,
    "NOT_FOUND",
    {},
    "UNAUTHENTICATED",
  ),
  document(
    "brackets behind a string that looks open",
    `{ run(id: "\\"") { id } ${nest(100, "{a", "}")} }`,
    "QUERY_TOO_COMPLEX",
  ),
  document("a byte order mark in front", "\ufeff{ __typename }", "answered"),
  document("byte order marks in between", "{\ufeff __typename \ufeff}", "answered"),
  document("a byte order mark in a name", "{ __type\ufeffname }", "GRAPHQL_VALIDATION_FAILED"),
  document("NUL", "{ __typename \u0000 }", "GRAPHQL_PARSE_FAILED"),
  document("half a surrogate pair", "{ __typename \ud800 }", "GRAPHQL_PARSE_FAILED"),
  document("an escape beyond Unicode", '{ run(id: "\\u{110000}") { id } }', "GRAPHQL_PARSE_FAILED"),
  document("an escape of half a surrogate pair", '{ run(id: "\\ud800") { id } }', "GRAPHQL_PARSE_FAILED"),
  document("a name in other letters", "{ __tуpename }", "GRAPHQL_PARSE_FAILED"),
  document("a definition of a type", "type Query { a: Int }", "GRAPHQL_VALIDATION_FAILED"),
  document(
    "a definition of a type beside a query",
    "{ __typename } extend type Query { a: Int }",
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document(
    "a query that subscribes twice",
    "subscription{approvalsChanged{id} agentsChanged{id}}",
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document("a mutation that is a subscription", "subscription{login}", "GRAPHQL_VALIDATION_FAILED"),
];

const introspection: Attack[] = [
  forCallers("__schema", "{__schema{types{name fields{name}}}}"),
  forCallers("__type", '{__type(name:"Query"){fields{name}}}'),
  forCallers("__type in a fragment", '{...f} fragment f on Query{__type(name:"User"){name}}'),
  forCallers("__schema beside what a stranger may ask", "{__typename __schema{types{name}}}"),
  document("__typename", "{__typename}", "answered"),
  document("__schema with an alias", "{a:__schema{types{name}}}", "QUERY_TOO_COMPLEX"),
  document(
    "the schema of the schema, 20 times",
    `{__schema{types{${nest(20, "fields{type{", "}}", "name")}}}}`,
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document(
    "_service and _entities of a federation",
    "{_service{sdl} _entities(representations:[]){__typename}}",
    "GRAPHQL_VALIDATION_FAILED",
  ),
];

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"];
const names: Attack[] = [
  misfit("__proto__ as a variable", `${TYPENAME},"variables":{"__proto__":{"isAdmin":true}}}`),
  misfit("__proto__ in escapes", `${TYPENAME},"variables":{"\\u005f_proto__":{"isAdmin":true}}}`),
  misfit("__proto__ deep in a variable", `${TYPENAME},"variables":{"a":[{"b":{"__proto__":1}}]}}`),
  misfit(
    "constructor.prototype in a variable",
    `${TYPENAME},"variables":{"a":{"constructor":{"prototype":{"isAdmin":true}}}}}`,
  ),
  misfit("__proto__ beside the query", `${TYPENAME},"__proto__":{"variables":{}}}`),
  misfit("the query from __proto__", '{"__proto__":{"query":"{ __typename }"}}'),
  document(
    "__proto__ in a JSON value of the document",
    'mutation{runAgent(input:{agentId:"x",input:{__proto__:{a:1}}}){id}}',
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document("__proto__ as a field of an input", "{runs(filter:{__proto__:{}}){nodes{id}}}", "GRAPHQL_VALIDATION_FAILED"),
  ...NAMES.flatMap((name) => [
    document(`${name} as an alias`, `{${name}:__typename}`, "answered"),
    document(`${name} as a field`, `{${name}}`, "GRAPHQL_VALIDATION_FAILED"),
    document(`${name} as an operationName that there is not`, "{__typename}", "GRAPHQL_VALIDATION_FAILED", {
      operationName: name,
    }),
    document(`${name} as an operationName`, `query ${name}{__typename} query other{__typename}`, "answered", {
      operationName: name,
    }),
    document(`${name} as a fragment that there is not`, `{...${name}}`, "GRAPHQL_VALIDATION_FAILED"),
    document(`${name} as a type`, `query($a:${name}){__typename}`, "GRAPHQL_VALIDATION_FAILED"),
    document(`${name} as a directive`, `{__typename @${name}}`, "GRAPHQL_VALIDATION_FAILED"),
  ]),
];

const requests: Attack[] = [
  document("an operationName that there is not", "query a{__typename}", "GRAPHQL_VALIDATION_FAILED", {
    operationName: "b",
  }),
  document("an operationName of 60,000 characters", "query a{__typename}", "GRAPHQL_VALIDATION_FAILED", {
    operationName: "b".repeat(60_000),
  }),
  document(
    "two operations and no operationName",
    "query a{__typename} query b{__typename}",
    "GRAPHQL_VALIDATION_FAILED",
  ),
  document("one name for two operations", "query a{__typename} query a{me{id}}", "GRAPHQL_VALIDATION_FAILED", {
    operationName: "a",
  }),
  misfit("an operationName that is a number", `${TYPENAME},"operationName":1}`),
  misfit("a query that is a document", '{"query":{"kind":"Document","definitions":[]}}'),
  misfit("a query that is null", '{"query":null}'),
  misfit("variables that are a text", `${TYPENAME},"variables":"{}"}`),
  misfit("variables that are a list", `${TYPENAME},"variables":[]}`),
  misfit("extensions that are a list", `${TYPENAME},"extensions":[]}`),
  ...["", '"query":null,', '"query":"",'].map((query) =>
    attack(
      `a persisted query with ${query || "nothing"}`,
      `{${query}"extensions":{"persistedQuery":{"version":1,"sha256Hash":"ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38"}}}`,
      {
        caller: "PERSISTED_QUERY_NOT_SUPPORTED",
      },
    ),
  ),
  misfit("a persisted query that is none", '{"extensions":{"persistedQuery":"x"}}'),
  misfit("the id of a persisted query", '{"id":"1","documentId":"sha256:x","doc_id":"1"}'),
  document("a persisted query with its text", "{__typename}", "answered", {
    extensions: { persistedQuery: { version: 1, sha256Hash: "0".repeat(64) } },
  }),
  document("extensions of 60 kB", "{__typename}", "answered", { extensions: { a: "x".repeat(60_000) } }),
  document("extensions of 1 MB", "{__typename}", "answered", { extensions: { a: "x".repeat(1_000_000) } }),
  attack("two queries in one object: the last counts", '{"query":"{ me { id } }","query":"{ __typename }"}', {
    caller: "answered",
  }),
  attack("two queries in one object, the worse one last", '{"query":"{ __typename }","query":"{ nothing }"}', {
    caller: "GRAPHQL_VALIDATION_FAILED",
  }),
];

export const ATTACKS: readonly Attack[] = [
  ...nesting,
  ...closing,
  ...floods,
  ...fragments,
  ...batches,
  ...values,
  ...texts,
  ...introspection,
  ...names,
  ...requests,
];

/** Bodies that are no JSON text: over HTTP alone, where a WebSocket's message has bounds of its own (close-codes.test.ts). */
export const NO_JSON: readonly [what: string, body: string | Buffer][] = [
  ["nothing", ""],
  ["half an object", '{"query":"{ __typename }"'],
  ["two objects", '{"query":"{ __typename }"}{}'],
  ["a document without JSON", "{ __typename }"],
  ["a text", '"{ __typename }"'],
  ["null", "null"],
  ["a comment", '{"query":"{ __typename }"} // x'],
  ["a comma too many", '{"query":"{ __typename }",}'],
  ["other quotes", "{'query':'{ __typename }'}"],
  ["NaN", '{"query":"{ __typename }","variables":{"a":NaN}}'],
  ["a line break in a text", '{"query":"{ __typename\n }"}'],
  ["a form", "query=%7B%20__typename%20%7D"],
  ["UTF-16", Buffer.from('\ufeff{"query":"{ __typename }"}', "utf16le")],
  [
    "bytes that are no UTF-8",
    Buffer.concat([Buffer.from('{"query":"{ __typename } #'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')]),
  ],
  [
    "a character in too many bytes",
    Buffer.concat([Buffer.from('{"query":"{ __typename } #'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
  ],
  [
    "gzip",
    Buffer.from("1f8b0800000000000003ab562a2c4d2daa54b252aa56888f2fa92c48cd4bcc4d55a855aa0500c286d7211a000000", "hex"),
  ],
];

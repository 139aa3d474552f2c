/** Requests whose bytes, headers and ways are wrong in any way that a client can think of. */
import { gzipSync } from "node:zlib";
import type { Random } from "../faults/random.ts";
import { NAUGHTY } from "./naughty.ts";
import type { Sent } from "./send.ts";
import { anyJson, nested } from "./values.ts";

const QUERY = "query($id: ID) { me { id } node(id: $id) { id } }";
const TYPES = [
  "application/json",
  "application/json; charset=utf-8",
  "application/json; charset=utf-16",
  "application/json;".repeat(500),
  "text/plain",
  "multipart/form-data; boundary=x",
  "application/graphql",
  "",
];
const HUGE_NUMBERS = [
  "1e999",
  "-1e999",
  "1e-999",
  "9".repeat(400),
  "9".repeat(100_000),
  `0.${"1".repeat(100_000)}`,
  "-0",
];

/** Values that a header can have. */
const headerText = (random: Random): string => random.pick(NAUGHTY).replaceAll(/[^\t\x20-\x7e]/g, "") || "x";

const listed = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join();

/** One variable that stands many times within one literal. */
const repeated = (times: number, fields: string): string =>
  `{"query": "mutation($b: JSON) { runAgent(input: {agentId: 1, input: {a: [${"$b ".repeat(times)}]}}) { id } }", "variables": {"b": {${fields}}}}`;

/** JSON text with something that JSON.stringify never writes. */
function jsonText(random: Random): string {
  const variables = (text: string): string => `{"query": ${JSON.stringify(QUERY)}, "variables": ${text}}`;
  return random.pick<() => string>([
    () => variables(`{"id": ${random.pick(HUGE_NUMBERS)}}`),
    () => variables(`{"id": "${random.pick(["\\ud800", "\\udc00", "\\u0000", "\\u0061".repeat(50_000)])}"}`),
    () => variables(`{"id": 1, "id": 2, ${'"id": 3, '.repeat(random.pick([1, 20_000]))}"id": 4}`),
    () => variables(`{"__proto__": {"id": 1}, "constructor": {"prototype": {}}}`),
    () => variables(`{${Array.from({ length: random.pick([10, 60_000]) }, (_, n) => `"k${n}": ${n}`).join()}}`),
    () => variables(`{"id": [${listed(random.pick([100, 8_000, 90_000]), (n) => `{"${n.toString(36)}": 0}`)}]}`),
    () => variables(`{"id": [{"constructor": 1}, ${listed(random.pick([100, 70_000, 300_000]), () => "[]")}]}`),
    () => variables(`{"id": [${listed(random.pick([100, 70_000, 110_000]), (n) => `"\\n${n.toString(36)}"`)}]}`),
    () =>
      repeated(
        random.pick([2, 30, 900]),
        listed(random.pick([10, 1_000, 8_000]), (n) => `"k${n}": 0`),
      ),
    () => variables(JSON.stringify(nested(random.pick([60, 64, 70, 2_000]), random.next() < 0.5))),
    () => variables("[".repeat(random.pick([64, 500_000]))),
    () => variables('{"a":'.repeat(random.pick([64, 150_000]))),
    () => variables(JSON.stringify(anyJson(random))),
    () => `[${`${variables("{}")},`.repeat(random.pick([1, 10_000]))}${variables("{}")}]`,
    () => `${" ".repeat(random.pick([1, 900_000]))}${variables("{}")}`,
    () => `{"query": ${JSON.stringify(`# ${"x".repeat(random.pick([10, 900_000]))}\n{ me { id } }`)}}`,
    () => `{"query": ${JSON.stringify(`{ node(id: "${"\\u{61}".repeat(random.pick([1, 100_000]))}") { id } }`)}}`,
    () => `{"query": ${JSON.stringify(`{ node(id: """${'\\"""\n  '.repeat(random.pick([1, 100_000]))}""") { id } }`)}}`,
    () => `{"query": ${JSON.stringify("\ufeff,,, ,".repeat(random.pick([1, 150_000])))}}`,
    () =>
      `{"query": ${JSON.stringify(random.pick(NAUGHTY))}, "operationName": ${JSON.stringify(random.pick(NAUGHTY))}}`,
    () => random.pick(["", "null", "1", '"text"', "[]", "{}", "{", '{"query":', "\0", "NaN", "{'query': 1}"]),
    () => JSON.stringify({ query: anyJson(random), variables: anyJson(random), operationName: anyJson(random) }),
  ])();
}

function bytes(random: Random, text: string): Buffer {
  const dice = random.next();
  if (dice < 0.7) return Buffer.from(text);
  return random.pick<() => Buffer>([
    () => Buffer.from(text, "utf16le"),
    () => Buffer.from(`\ufeff${text}`),
    () => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80])]),
    () => Buffer.from(text.replaceAll("a", "é"), "latin1"),
    () => gzipSync(text),
    () => Buffer.concat([Buffer.from(text), Buffer.alloc(random.pick([1, 100_000]))]),
    () => Buffer.alloc(random.pick([1_048_575, 1_048_576, 1_048_577, 3_000_000]), "["),
    () => Buffer.from(Array.from({ length: 300 }, () => random.between(0, 255))),
  ])();
}

const extraHeaders = (random: Random): Record<string, string> =>
  random.pick<() => Record<string, string>>([
    () => ({}),
    () => ({}),
    () => ({ "content-encoding": random.pick(["gzip", "br", "identity", "x"]) }),
    () => ({ "x-request-id": headerText(random).repeat(10) }),
    () => ({ "idempotency-key": headerText(random) }),
    () => ({ "idempotency-key": "k".repeat(random.pick([255, 256, 10_000])) }),
    () => ({ authorization: `Bearer ${headerText(random)}` }),
    () => ({ authorization: `Bearer ${"a".repeat(random.pick([100, 12_000]))}` }),
    () => ({
      authorization: `Bearer eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify(nested(3_000, true)))
        .toString("base64url")
        .slice(0, 9_000)}.`,
    }),
    () => ({ cookie: "a=b; ".repeat(1_000) }),
    () => ({ accept: `${"text/html, ".repeat(1_000)}application/json` }),
    () => ({ host: headerText(random).replaceAll(/\s/g, "") }),
    () => ({ origin: headerText(random), "access-control-request-method": "POST" }),
    () => ({ "x-forwarded-for": "1.2.3.4, ".repeat(500) }),
    () => ({ expect: "100-continue" }),
    () => Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-${n}`, "1"])),
  ])();

export function randomBody(random: Random): Sent {
  const method = random.next() < 0.85 ? "POST" : random.pick(["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]);
  const path =
    random.next() < 0.85
      ? "/graphql"
      : random.pick([
          "/graphql?query={me{id}}",
          "//graphql",
          "/graphql/",
          `/${"a/".repeat(4_000)}`,
          "/%00",
          "/..%2f..%2fetc/passwd",
          "/assets/..%5c",
          "/healthz",
          "/readyz",
          "/",
        ]);
  const type = random.next() < 0.85 ? {} : { "content-type": random.pick(TYPES) };
  return {
    method,
    path,
    headers: { ...type, ...extraHeaders(random) },
    body: bytes(random, jsonText(random)),
  };
}

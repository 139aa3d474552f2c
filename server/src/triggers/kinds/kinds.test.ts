import { describe, expect, test } from "vitest";
import { refuseAny, type FieldProblem, type Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { configured, keysOf, kindOf, TRIGGER_TYPES } from "./kinds.ts";
import { checkKeys, type Keys } from "./contract/trigger-kind.ts";

const KEYS: Keys = {
  text: { api: "String", description: "", isRequired: true },
  count: { api: "Int", description: "" },
  list: { api: "[String]", description: "" },
  any: { api: "JSON", description: "" },
};

function check(given: Record<string, unknown>): { kept: object; problems: FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const checking = { keys: KEYS, unknown: (key: string) => `is not known: ${key}`, path: "input.trigger" };
  const kept = checkKeys(given as never, { ...checking, take: (present) => present }, problems);
  return { kept, problems };
}

describe("keys", () => {
  test("values of the right type are kept, and null counts as missing", () => {
    const given = { text: "a", count: 1, list: ["b"], any: { c: null } };
    expect(check(given)).toEqual({ kept: given, problems: [] });
    expect(check({ text: "a", count: null })).toEqual({ kept: { text: "a" }, problems: [] });
  });

  test("every wrong one is named", () => {
    const { problems } = check({ count: "1", list: [1], other: 1 });
    expect(problems).toEqual([
      { path: "input.trigger.count", code: "wrong_type", message: "must be a whole number" },
      { path: "input.trigger.list", code: "wrong_type", message: "must be a list of texts" },
      { path: "input.trigger.other", code: "unknown", message: "is not known: other" },
      { path: "input.trigger.text", code: "required", message: "is missing" },
    ]);
    expect(() => refuseAny(problems)).toThrow("trigger.count must be a whole number; trigger.list must be");
  });

  test("at most 20 wrong ones are named, and the sentence counts the others", () => {
    const many = (count: number) => check(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1])));
    const refusalOf = (problems: FieldProblem[]): Refusal => {
      try {
        refuseAny(problems);
      } catch (error) {
        return error as Refusal;
      }
      throw new Error("nothing is refused");
    };
    // `text` is missing, too.
    const all = refusalOf(many(19).problems);
    expect([all.details.fields!.length, all.message]).toEqual([20, expect.stringMatching(/text is missing$/)]);
    const some = refusalOf(many(1_999).problems);
    expect([some.details.fields!.length, some.message]).toEqual([20, expect.stringMatching(/k19; and 1980 more$/)]);
  });

  test("have at most triggerBytes as JSON", () => {
    const sized = (bytes: number) => check({ text: "x".repeat(bytes - '{"text":""}'.length) }).problems;
    expect(sized(LIMITS.triggerBytes)).toEqual([]);
    expect(sized(LIMITS.triggerBytes + 1)).toMatchObject([
      { code: "too_large", message: expect.stringContaining(String(LIMITS.triggerBytes)) },
    ]);
  });
});

test("a webhook has at most 100 addresses, and each must be valid", () => {
  const of = (allowedAddresses: string[]): FieldProblem[] => {
    const problems: FieldProblem[] = [];
    configured(
      { type: "webhook", keys: {}, policy: { allowedAddresses } },
      { keys: "trigger", policy: "policy" },
      problems,
    );
    return problems;
  };
  const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `10.0.${index}.0/24`);
  expect(of(many(LIMITS.webhookAddresses))).toEqual([]);
  expect(of(many(LIMITS.webhookAddresses + 1))).toMatchObject([
    { code: "too_many", message: expect.stringContaining(String(LIMITS.webhookAddresses)) },
  ]);
  expect(of([])).toMatchObject([{ code: "too_few" }]);
  for (const wrong of ["", "10.0.0.0/33", "::1/129", "host", "10.0.0.0/8/8"])
    expect(of(["::1", wrong]), wrong).toMatchObject([{ path: "policy.allowedAddresses.1", code: "invalid" }]);
});

test("no header with a credential may name deliveries, and no header may beside a signature", () => {
  const of = (policy: JsonObject): FieldProblem[] => {
    const problems: FieldProblem[] = [];
    configured({ type: "webhook", keys: {}, policy }, { keys: "trigger", policy: "policy" }, problems);
    return problems;
  };
  expect(of({ deliveryHeader: "X-Delivery" })).toEqual([]);
  const signature = { preset: "header", secret: "plain", header: "X-Mine" };
  for (const policy of [
    { deliveryHeader: "Authorization" },
    { deliveryHeader: "cookie" },
    { deliveryHeader: "Proxy-Authorization" },
    { deliveryHeader: "two words" },
    { deliveryHeader: "x-mine", signature },
    { deliveryHeader: "x-delivery", signature },
  ])
    expect(of(policy), policy.deliveryHeader).toMatchObject([{ path: "policy.deliveryHeader", code: "invalid" }]);
});

test("a mapping has no NUL and no lone surrogate, which PostgreSQL could not read", () => {
  const of = (mapping: string): FieldProblem[] => {
    const problems: FieldProblem[] = [];
    configured({ type: "webhook", keys: {}, policy: { mapping } }, { keys: "trigger", policy: "policy" }, problems);
    return problems;
  };
  expect(of('{a: "\\u0000 \ud83d\ude00"}')).toEqual([]);
  for (const wrong of ['{a: "\0"}', ". # \ud800"])
    expect(of(wrong), wrong).toEqual([
      { path: "policy.mapping", code: "invalid", message: "must not contain NUL or lone surrogates" },
    ]);
});

test("only existing events of the service start runs", () => {
  const of = (source: string, event: string): FieldProblem[] => {
    const problems: FieldProblem[] = [];
    configured({ type: "event", keys: { source, event }, policy: {} }, { keys: "trigger", policy: "policy" }, problems);
    return problems;
  };
  expect(of("autograph", "run.completed")).toEqual([]);
  expect(of("shop", "run.complete")).toEqual([]);
  expect(of("autograph", "run.complete")).toMatchObject([
    { path: "trigger.event", code: "not_a_choice", message: expect.stringContaining("run.completed, run.failed") },
  ]);
});

describe("the table of kinds", () => {
  test("a key that several kinds have is of one type", () => {
    for (const of of ["keys", "policies"] as const)
      for (const [name, { api }] of Object.entries(keysOf(of)))
        for (const type of TRIGGER_TYPES)
          if (Object.hasOwn(kindOf(type)[of], name)) expect(kindOf(type)[of][name]!.api, `${type}.${name}`).toBe(api);
  });

  test("an unknown key is refused with the known ones", () => {
    const problems: FieldProblem[] = [];
    configured(
      { type: "webhook", keys: { url: "mine" }, policy: { other: 1 } },
      { keys: "trigger", policy: "policy" },
      problems,
    );
    expect(problems).toMatchObject([
      { path: "trigger.url", message: "is not known: a trigger of type webhook takes method, authentication" },
      {
        path: "policy.other",
        message: expect.stringContaining(
          "takes overlap, mapping, filter, accept, signature, allowedAddresses, deliveryHeader",
        ),
      },
    ]);
  });
});

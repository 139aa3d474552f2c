import { expect, test } from "vitest";
import type { JsonObject } from "../../lib/json/json.ts";
import { sampleInput } from "./sample-input.ts";

const sampleOf = (properties: Record<string, JsonObject>, required = Object.keys(properties)) =>
  sampleInput({ type: "object", properties, required }, "2026-11-21");

test("a required field without a default gets a value of its type", () => {
  const properties = {
    text: { type: "string" },
    amount: { type: "number" },
    count: { type: "integer" },
    day: { type: "string", format: "date" },
    yes: { type: "boolean" },
    speed: { type: "string", enum: ["rush", "standard"] },
    size: { type: "string", oneOf: [{ const: "s", title: "Small" }] },
    items: { type: "array", items: { type: "string" } },
    regions: { type: "array", items: { type: "string", enum: ["eu", "us"] } },
  };
  expect(sampleOf(properties)).toEqual({
    text: "example",
    amount: 1,
    count: 1,
    day: "2026-11-21",
    yes: true,
    speed: "rush",
    size: "s",
    items: ["example"],
    regions: ["eu"],
  });
  expect(sampleOf(properties, ["count"])).toEqual({ count: 1 });
  expect(sampleOf({ text: { type: "string", default: "no" } })).toEqual({});
  expect(sampleInput(undefined, "2026-11-21")).toEqual({});
});

test("limits are kept", () => {
  expect(
    sampleOf({
      short: { type: "string", maxLength: 3 },
      long: { type: "string", minLength: 10 },
      least: { type: "number", minimum: 40 },
      most: { type: "number", maximum: -2 },
      two: { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, minItems: 2 },
    }),
  ).toEqual({ short: "exa", long: "example...", least: 40, most: -2, two: ["a", "b"] });
});

test.each<[JsonObject, number]>([
  [{ type: "number", exclusiveMinimum: 5 }, 6],
  [{ type: "number", exclusiveMaximum: 0 }, -1],
  [{ type: "integer", multipleOf: 10 }, 10],
  [{ type: "integer", multipleOf: 10, minimum: 41 }, 50],
  [{ type: "integer", minimum: 1.5 }, 2],
  [{ type: "number", minimum: 1.5 }, 1.5],
  [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  [{ type: "integer", maximum: -3, multipleOf: 4 }, -4],
])("of the numbers that %j allows one is taken", (schema, expected) =>
  expect(sampleOf({ number: schema })["number"]).toBe(expected),
);

test("a list has its required number of texts, each within its limits and all different", () => {
  const items = { type: "string", minLength: 2, maxLength: 3 };
  expect(sampleOf({ list: { type: "array", items, minItems: 3 } })["list"]).toEqual(["exa", "2 e", "3 e"]);
});

test("no sample is made for a minimum of very many characters or items", () => {
  const sample = sampleOf({
    text: { type: "string", minLength: 2 ** 40 },
    list: { type: "array", items: { type: "string", minLength: 2 ** 40 }, minItems: 2 ** 30 },
  });
  expect(sample["text"]).toHaveLength(200);
  expect(sample["list"]).toHaveLength(20);
});

import { expect, test } from "vitest";
import type { JsonObject } from "../lib/json/json.ts";
import { sampleInput } from "./sample-input.ts";

const sampleOf = (properties: Record<string, JsonObject>, required = Object.keys(properties)) =>
  sampleInput({ type: "object", properties, required }, "2026-11-21");

test("what must be given and has no default gets a value of its type", () => {
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

test("a text that must be very long is not made", () => {
  const sample = sampleOf({ text: { type: "string", minLength: 2 ** 40 } });
  expect(sample["text"]).toHaveLength(200);
});

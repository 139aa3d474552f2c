import { expect, test } from "vitest";
import { KINDS } from "./kinds.ts";

const NONE = { schedule: null, timezone: null, source: null, event: null, filter: null };

test.each([
  [
    { type: "cron", schedule: "0 8 * * 1-5", timezone: "Europe/Berlin" },
    "At 08:00, Monday through Friday, Europe/Berlin",
  ],
  [{ type: "webhook" }, "When its URL is called"],
  [{ type: "event", source: "shop", event: "order.created", filter: {} }, "When shop says order.created"],
  [
    { type: "event", source: "shop", event: "order.created", filter: { country: ["FR", "DE"], total: [1] } },
    "When shop says order.created, if country is FR or DE and total is 1",
  ],
  [
    { type: "event", source: "bed and board", event: "room.left", filter: { floor: [2] } },
    "When bed and board says room.left, if floor is 2",
  ],
] as const)("%o", (trigger, sentence) =>
  expect(KINDS[trigger.type].sentenceOf({ ...NONE, ...trigger })).toBe(sentence),
);

import { expect, test } from "vitest";
import type { Outbound } from "../outbound/outbound.ts";
import { openModel } from "./model.ts";

test("the SDK writes no warnings past the log", () => {
  globalThis.AI_SDK_LOG_WARNINGS = undefined;
  const settings = { baseUrl: "http://127.0.0.1:1/v1", apiKey: undefined, model: "none" };
  openModel(settings, {} as Outbound, { host: "127.0.0.1:1", onResponse: () => {} });
  expect(globalThis.AI_SDK_LOG_WARNINGS).toBe(false);
});

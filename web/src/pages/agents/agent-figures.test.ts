import { expect, test } from "vitest";
import { completedOf } from "./agent-figures.ts";

test("completed is a share of the runs that completed or failed", () => {
  const runs = (["running", "completed", "failed", "completed", "cancelled"] as const).map((status) => ({ status }));
  expect(completedOf(runs)).toEqual({ text: "67 %", title: "2 of the last 3 that completed or failed" });
  expect(completedOf([{ status: "running" }, { status: "cancelled" }])).toBeUndefined();
});

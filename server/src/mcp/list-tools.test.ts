import { expect, test } from "vitest";
import { newId, encodeId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { ToolsPage } from "./list-tools.ts";

const toolOf = (bytes: number) => {
  const tool = { name: "a", title: "", description: "", inputSchema: {} };
  return { ...tool, title: "x".repeat(bytes - JSON.stringify(tool).length) };
};

test("a page ends before the tool that would make it too large", () => {
  let charged = 0;
  const page = new ToolsPage([], (bytes) => (charged += bytes));
  expect(page.takes(toolOf(LIMITS.mcpToolsBytes - 1_100), 1_000)).toBe(true);
  expect(page.takes(toolOf(100), 1)).toBe(false);
  expect(page.takes(toolOf(101), 0)).toBe(false);
  expect(page.takes(toolOf(100), 0)).toBe(true);
  const last = newId<"agent">();
  const { tools, nextCursor } = page.until(last);
  expect(tools).toHaveLength(2);
  expect(charged).toBe(LIMITS.mcpToolsBytes - 1_000);
  expect(nextCursor).toBe(encodeId("agent", last));
});

test("a tool that is too large is a page of its own", () => {
  expect(new ToolsPage([], () => {}).takes(toolOf(LIMITS.mcpToolsBytes + 1), 0)).toBe(true);
});

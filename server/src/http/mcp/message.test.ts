import { expect, test } from "vitest";
import { hasUrgentWord } from "../connections/urgent.ts";
import { isUrgent, readMessage } from "./message.ts";

const read = (method: string, params: object = {}): { text: string; urgent: boolean } => {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return { text, urgent: isUrgent(readMessage(text, {}, () => {})) };
};

test.each([
  ["tools/call", { name: "cancel_run" }],
  ["tools/call", { name: "decide_approval" }],
  ["tasks/cancel", {}],
  ["tasks/update", {}],
])("%s %j begins also when the server is overloaded, and a look at its bytes says that it may", (method, params) => {
  const { text, urgent } = read(method, params);
  expect(urgent).toBe(true);
  expect(hasUrgentWord(text)).toBe(true);
  expect(hasUrgentWord(text.replaceAll("/", "\\/"))).toBe(true);
});

test.each([
  ["tools/call", { name: "get_run" }],
  ["tools/call", { name: "demo_cancel-run" }],
  ["cancel_run", {}],
  ["tools/list", {}],
])("%s %j does not", (method, params) => expect(read(method, params).urgent).toBe(false));

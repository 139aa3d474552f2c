import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { commandFor } from "./curl.ts";

const field = { required: true, choices: null, default: null };
const agent = {
  id: "agent_1",
  name: "Ada's",
  inputFields: [
    { ...field, name: "what", type: "text" as const },
    { ...field, name: "it's", type: "choice" as const, choices: [{ value: "a'b" }, { value: "c" }] },
    { ...field, name: "amount", type: "number" as const },
    { ...field, name: "day", type: "date" as const },
    { ...field, name: "sure", type: "boolean" as const },
    { ...field, name: "all", type: "list" as const, choices: [{ value: "x" }] },
    { ...field, name: "given", type: "integer" as const, default: 7 },
    { ...field, name: "optional", type: "text" as const, required: false },
  ],
};
/** The text that a shell passes on. */
const passedOn = (command: string): string[] =>
  execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }\n${command}`], { encoding: "utf8" }).split("\0");

test("starts a run of the one agent with what it requires, through a shell's quotes", () => {
  const { does, text } = commandFor(
    { secret: "ag_1", scopes: ["runs:start"], agents: [agent] },
    "http://host/it's/graphql",
    "2026-01-31",
  );
  expect(does).toBe("starts a run of Ada's");
  const [url, , authorization, , , , body] = passedOn(text);
  expect(url).toBe("http://host/it's/graphql");
  expect(authorization).toBe("Authorization: Bearer ag_1");
  expect(JSON.parse(body!).variables).toEqual({
    agentId: "agent_1",
    input: { what: "example", "it's": "a'b", amount: 1, day: "2026-01-31", sure: true, all: ["x"] },
  });
});

test("reads the agents, or asks who it is, when it may do no more", () => {
  const of = (scopes: string[]): string => commandFor({ secret: "s", scopes, agents: null }, "http://h", "").text;
  expect(of(["agents:read", "runs:start"])).toContain("agentsConnection");
  expect(of(["runs:read"])).toContain("caller { scopes }");
});

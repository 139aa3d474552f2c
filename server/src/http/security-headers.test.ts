import { expect, test } from "vitest";
import { securityHeaders } from "./security-headers.ts";

test("browsers keep to https only where the operator has said that the server is reached by it", () => {
  const has = (publicUrl?: string): boolean => {
    const { api, lines, page } = securityHeaders(publicUrl);
    const found = [
      api.includes("strict-transport-security"),
      lines.includes("strict-transport-security"),
      "strict-transport-security" in page("nonce"),
    ];
    expect(new Set(found).size).toBe(1);
    return found[0]!;
  };
  expect(has("https://agents.example.org/autograph")).toBe(true);
  expect(has("http://agents.example.org")).toBe(false);
  expect(has()).toBe(false);
});

test("as lines the headers are the same as in the list", () => {
  const { api, lines } = securityHeaders("https://agents.example.org");
  expect(
    lines
      .split("\r\n")
      .slice(0, -1)
      .flatMap((line) => line.split(/: (.*)/s).slice(0, 2)),
  ).toEqual(api);
});

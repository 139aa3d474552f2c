import { expect, test } from "vitest";
import { parseAllowedCommand, whyRefused } from "./allowed-commands.ts";

const ALLOWED = [
  "npx -y @scope/search-mcp",
  "A= B= /opt/files-mcp",
  "B= C= /opt/many-mcp x",
  "D= /opt/many-mcp x",
  "/opt/many-mcp y",
].map((entry) => parseAllowedCommand(entry)!);

test.each([
  ["npx", ["-y", "@scope/search-mcp"], [], undefined],
  ["npx", undefined, [], undefined],
  ["npx", [], [], /only with other arguments/],
  ["npx", ["-y", "@scope/search-mcp", "more"], [], /only with other arguments/],
  ["npx", ["@scope/search-mcp", "-y"], [], /only with other arguments/],
  ["npx", ["-y @scope/search-mcp"], [], /only with other arguments/],
  ["npx", ["-y", "@scope/search-mcp"], ["A"], /set A for/],
  ["/opt/files-mcp", ["any", "thing"], ["B", "A"], undefined],
  ["/opt/files-mcp", [], ["A", "PATH"], /set PATH for/],
  ["/opt/many-mcp", ["x"], ["B"], undefined],
  ["/opt/many-mcp", ["x"], ["B", "D"], /set all of these variables for/],
  ["/opt/many-mcp", ["y"], [], undefined],
  ["/opt/many-mcp", ["y"], ["B"], /set B for/],
  ["files-mcp", [], [], /none that the operator allows/],
  ["/opt/../opt/files-mcp", [], [], /none that the operator allows/],
  ["", [], [], /none that the operator allows/],
] as [string, string[] | undefined, string[], RegExp | undefined][])(
  "%s %o with %o",
  (command, given, variables, why) => {
    const refused = whyRefused(ALLOWED, { command, arguments: given, variables });
    if (why) expect(refused).toMatch(why);
    else expect(refused).toBeUndefined();
  },
);

test("an entry begins with a path from the root or a name in PATH, after the variables", () => {
  for (const entry of ["", "A=", "A=1 mcp", "./mcp", "bin/mcp", "-mcp", "1A= mcp"])
    expect(parseAllowedCommand(entry)).toBeUndefined();
  expect(parseAllowedCommand(" A=  /opt/mcp  --b=c ")).toEqual({
    command: "/opt/mcp",
    arguments: ["--b=c"],
    settable: ["A"],
  });
});

/** The commands that tests start as MCP servers over stdio, and what MCP_STDIO_ALLOW says of them. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export type StdioCommand = { command: string; arguments?: string[] };

const here = (file: string): string => path.join(import.meta.dirname, file);
const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
const official = (legacy: string): string[] => [here("mcp-stdio-server.ts"), legacy];

export const EVERYTHING: StdioCommand = { command: process.execPath, arguments: [everything, "stdio"] };
export const STATELESS: StdioCommand = { command: process.execPath, arguments: official("reject") };
export const BOTH: StdioCommand = { command: process.execPath, arguments: official("serve") };
/** A shell's (`mcp-command.sh`), with any arguments and TOKEN. */
export const SHELL = here("mcp-command.sh");
export const MISSING: StdioCommand = { command: "/nowhere/mcp", arguments: [] };

const entry = ({ command, arguments: given = [] }: StdioCommand): string => [command, ...given].join(" ");
export const MCP_STDIO_ALLOW = [EVERYTHING, STATELESS, BOTH, MISSING, { command: `TOKEN= ${SHELL}` }]
  .map(entry)
  .join(",");

/** Whether the process whose id stands in the file is running; a dead one that nobody has waited for is not. */
export function isAlive(pidFile: string): boolean {
  const pid = fs.readFileSync(pidFile, "utf8").trim();
  try {
    return !execFileSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).startsWith("Z");
  } catch {
    return false;
  }
}

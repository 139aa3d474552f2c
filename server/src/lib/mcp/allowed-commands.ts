/**
 * The commands that definitions may start as MCP servers over stdio: those that the operator lists in MCP_STDIO_ALLOW. An entry
 * without arguments allows the command with any, one with arguments only with exactly these, as in sudoers.
 */
import { shownText } from "../text.ts";

export type AllowedCommand = {
  /** A path from the root, or a name that is looked for in PATH. */
  command: string;
  arguments: readonly string[] | undefined;
  /** The variables of its environment that a definition may set. */
  settable: readonly string[];
};

/** The command that a definition wants to start. `arguments`: undefined while they are not known. */
export type WantedCommand = { command: string; arguments: readonly string[] | undefined; variables: readonly string[] };

const SHOWN_CHARACTERS = 60;
const SETTABLE = /^([A-Za-z_]\w*)=$/;
const COMMAND = /^(?:\/|[^-/=][^/=]*$)/;

/** An entry, such as `API_TOKEN= /opt/search-mcp --read-only`; undefined if it is none. */
export function parseAllowedCommand(entry: string): AllowedCommand | undefined {
  const words = entry.split(/\s+/).filter(Boolean);
  const settable: string[] = [];
  for (let name = SETTABLE.exec(words[0] ?? ""); name; name = SETTABLE.exec(words[0] ?? "")) {
    settable.push(name[1]!);
    words.shift();
  }
  const [command, ...given] = words;
  if (command === undefined || !COMMAND.test(command)) return undefined;
  return { command, arguments: given.length > 0 ? given : undefined, settable };
}

/** Why a command may not be started, or undefined. */
export function whyRefused(allowed: readonly AllowedCommand[], wanted: WantedCommand): string | undefined {
  const named = allowed.filter(({ command }) => command === wanted.command);
  const shown = shownText(wanted.command, SHOWN_CHARACTERS);
  if (named.length === 0) return `the command ${shown} is none that the operator allows (MCP_STDIO_ALLOW)`;
  const fitting = named.filter((entry) => fits(entry.arguments, wanted.arguments));
  if (fitting.length === 0)
    return `the operator allows the command ${shown} only with other arguments (MCP_STDIO_ALLOW)`;
  if (fitting.some(({ settable }) => wanted.variables.every((name) => settable.includes(name)))) return undefined;
  const name = wanted.variables.find((one) => !fitting.some(({ settable }) => settable.includes(one)));
  return `the operator does not let definitions set ${name === undefined ? "all of these variables" : shownText(name, SHOWN_CHARACTERS)} for the command ${shown} (MCP_STDIO_ALLOW)`;
}

const fits = (allowed: AllowedCommand["arguments"], wanted: WantedCommand["arguments"]): boolean =>
  allowed === undefined ||
  wanted === undefined ||
  (allowed.length === wanted.length && allowed.every((word, index) => word === wanted[index]));

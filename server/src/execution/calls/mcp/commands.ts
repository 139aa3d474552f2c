/** The way to an MCP server over stdio: a command that the operator allows, started for one call or for an assistant's. */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { inTurns } from "../../../fairness/slices.ts";
import { Slots } from "../../../fairness/slots.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { OrganizationId } from "../../../lib/ids.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { whyRefused, type AllowedCommand } from "../../../lib/mcp/allowed-commands.ts";
import { ERRORS, WITH_INITIALIZE } from "../../../lib/mcp/protocol.ts";
import { Interruption } from "../../../outbound/interruption.ts";
import type { OutboundResponse } from "../../../outbound/outbound.ts";
import type { Answer, Line } from "./conversation.ts";
import { readerOf, type Way } from "./reader.ts";
import { replyOf } from "./reply.ts";
import { RunningCommand, type Started } from "./running-command.ts";
import { Starts } from "./starts.ts";

export type McpCommands = {
  allowed: readonly AllowedCommand[];
  /** Given to every command. */
  environment: Record<string, string>;
  clock: Clock;
  slots: Slots;
  starts: Starts;
  /** Those that stay for further calls and have none at the moment, the longest idle first. */
  idle: Set<IdleCommand>;
};

/** It gives up its process when somebody else needs the slot. */
export type IdleCommand = { readonly organizationId: OrganizationId; leave(): void };

export const createMcpCommands = (options: Omit<McpCommands, "slots" | "starts" | "idle">): McpCommands => ({
  ...options,
  idle: new Set(),
  starts: new Starts(),
  slots: new Slots(LIMITS.mcpCommands, 1 / 2),
});

/** Messages are the same in these as in newer ones; only their HTTP was another. */
const REVISIONS = [...WITH_INITIALIZE, "2025-03-26", "2024-11-05"];

/** Calls `talk` with the way to the command, and ends the command. Rejects with WorkflowError. */
export async function withCommand(
  commands: McpCommands,
  wanted: Started,
  way: Way,
  talk: (line: Line) => Promise<void>,
): Promise<void> {
  using interruption = interruptionOf(commands, wanted, way);
  const running = await started(commands, wanted, way, interruption);
  try {
    await talk(lineTo(wanted.command, running, way));
  } catch (error) {
    throw await explained(error, running, way);
  } finally {
    running.leave();
  }
}

/** The end of a call's time. Throws WorkflowError if the operator does not allow the command. */
export function interruptionOf(
  { allowed, clock }: McpCommands,
  { command, arguments: given, environment }: Started,
  { context: { signal, limitMs, leftMs } }: Way,
): Interruption {
  const why = whyRefused(allowed, { command, arguments: given, variables: Object.keys(environment) });
  if (why !== undefined) throw WorkflowError.of("authorization", `${why}, so nothing was started`);
  const timedOut = (): Error =>
    WorkflowError.of("timeout", `${command} did not answer in full within ${limitMs / 1_000} s`);
  return new Interruption(signal, clock, leftMs(), timedOut);
}

/** Waits until it may be started, and is killed when the call ends. It has its slot until it is gone. Throws what ends the call first. */
export async function started(
  commands: McpCommands,
  wanted: Started,
  { context: { organizationId, limitMs } }: Way,
  interruption: Interruption,
): Promise<RunningCommand> {
  const { slots, starts, clock, environment } = commands;
  const { timedOut } = interruption;
  interruption.timedOut = () =>
    WorkflowError.of(
      "timeout",
      `${wanted.command} was not started: no place for it was free within ${limitMs / 1_000} s`,
    );
  const over = new AbortController();
  interruption.stop = () => over.abort();
  if (!slots.tryTake(organizationId)) {
    makeRoom(commands, organizationId);
    if (!(await slots.take(organizationId, over.signal))) interruption.throwIfEnded();
  }
  try {
    if (!(await starts.take(organizationId, over.signal))) interruption.throwIfEnded();
    const whole = { ...wanted, environment: { ...environment, ...wanted.environment } };
    const running = starts.start(organizationId, () => {
      interruption.throwIfEnded();
      const begun = new RunningCommand(whole, clock);
      interruption.timedOut = timedOut;
      // At once: the call may end before anybody has the command.
      interruption.stop = (reason) => begun.kill(reason);
      return begun;
    });
    void running.gone.then(() => slots.release(organizationId));
    return running;
  } catch (error) {
    slots.release(organizationId);
    throw error;
  }
}

/** One that is idle gives up its slot: of the organization's own, if it has all that it may have. */
function makeRoom({ slots, idle }: McpCommands, organizationId: OrganizationId): void {
  const isOwn = slots.leftOf(organizationId) <= 0;
  for (const one of idle) if (!isOwn || one.organizationId === organizationId) return one.leave();
}

/** The end of its error output that an error repeats. */
const SHOWN_CHARACTERS = 500;

/** With what a command that ended wrote to its error output. It is searched whole: the beginning of a credential may be too short to be recognised. */
export async function explained(
  error: unknown,
  running: RunningCommand,
  { credentials, context }: Way,
): Promise<unknown> {
  const said = running.errors.trim();
  if (running.death === undefined || error !== running.death || said === "") return error;
  const shown = (await inTurns(credentials.hide(said), context.turn)).slice(-SHOWN_CHARACTERS).toWellFormed();
  return WorkflowError.of("communication", `${running.death.fields.detail}; its last words: ${shown}`);
}

export function lineTo(command: string, running: RunningCommand, way: Way): Line {
  // An attempt shows what an HTTP endpoint answered.
  const reader = readerOf(way, () => {});
  const { turn } = way.context;
  const answer = async (id: number): Promise<Answer> => {
    for (;;) {
      const line = await running.line();
      await turn();
      const message = messageIn(line);
      if (message?.["method"] !== undefined) refuse(running, message);
      else if (message?.["id"] === id) return { from: command, response: responseOf(line), reply: replyOf(message) };
    }
  };
  return {
    ...reader,
    revisions: REVISIONS,
    async post({ id, body }, taken) {
      running.send(body!);
      const none = { from: command, response: responseOf(NOTHING), reply: {} };
      // Before it is read: only one answer of an organization is searched for credentials at a time.
      const answered = id === undefined ? none : await answer(id);
      await reader.read(async () => answered, taken);
    },
  };
}

const NOTHING = Buffer.alloc(0);
const BRACE = 0x7b;

/** Undefined for a line that is no message, such as a greeting. Throws WorkflowError if it begins like one. */
function messageIn(line: Buffer): JsonObject | undefined {
  if (line[0] !== BRACE) return undefined;
  let message: Json;
  try {
    message = parseJson(line.toString(), "the answer");
  } catch (error) {
    throw WorkflowError.of("communication", (error as Error).message);
  }
  return isObject(message) ? message : undefined;
}

/** A request of the server's, which a call declares no means to answer. It is left unanswered if the command reads nothing. */
function refuse(running: RunningCommand, { id, method }: JsonObject): void {
  if (id === undefined || !running.isReading) return;
  const error = { code: ERRORS.methodNotFound, message: "Method not found" };
  running.reply({ jsonrpc: "2.0", id, ...(method === "ping" ? { result: {} } : { error }) });
}

const responseOf = (body: Buffer): OutboundResponse => ({
  status: 200,
  statusText: "",
  url: "",
  headers: { "content-type": "application/json" },
  setCookies: [],
  body,
});

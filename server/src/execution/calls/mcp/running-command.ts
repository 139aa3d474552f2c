/**
 * A command that speaks MCP by lines over its standard streams. It is started in a process group of its own, which a
 * shell kills as soon as descriptor 3 closes: when the call is given up, and however this process ends.
 */
import { spawn, type ChildProcess } from "node:child_process";
import type { Duplex, Readable, Writable } from "node:stream";
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { until, type Clock } from "../../../lib/clock.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";

/**
 * The watcher is a child of the shell, not of the command, which might wait for all of its own. The shell keeps none of the streams, so
 * that their ends are the command's. What a command leaves running is ended with it, and killed a second later.
 */
const WATCHED = `
{ trap 'exec 3<&-; sleep 1; kill -9 -$$' TERM; read -r _ <&3; kill -9 -$$; } >/dev/null 2>&1 &
exec 4<&0
"$@" <&4 3<&- 4<&- &
command=$!
exec </dev/null >/dev/null 2>&1 4<&-
wait $command
code=$?
trap '' TERM
kill -TERM 0
exit $code`;

/** How long a command may take to end by itself once nothing more is asked. */
const GOODBYE_MS = 2_000;
/** How long what it wrote may still be on its way when it has ended: something that it started may hold the streams open. */
const REST_MS = 1_000;

export type Started = {
  command: string;
  arguments: readonly string[];
  /** The whole environment. */
  environment: Record<string, string>;
};

export class RunningCommand {
  /** Resolves once it and its streams are closed. */
  readonly gone: Promise<void>;
  /** Its error output until now. */
  errors = "";
  /** The error of one that ended although an answer was waited for. */
  death: WorkflowError | undefined;
  #end = "";
  readonly #name: string;
  readonly #clock: Clock;
  readonly #input: Writable;
  readonly #output: Readable;
  readonly #errorOutput: Readable;
  readonly #lifeline: Duplex;
  readonly #pieces: NodeJS.AsyncIterator<Buffer>;
  /** Read, but not yet looked at. */
  #unread: Buffer = Buffer.alloc(0);
  /** Since the last message. */
  #bytes = 0;
  #killed: { reason: unknown } | undefined;

  /** Throws WorkflowError. */
  constructor({ command, arguments: given, environment }: Started, clock: Clock) {
    this.#name = command;
    this.#clock = clock;
    const child = started([command, ...given], environment);
    this.#input = child.stdin!;
    this.#output = child.stdout!;
    this.#errorOutput = child.stderr!;
    this.#lifeline = child.stdio[3] as Duplex;
    this.#pieces = this.#output[Symbol.asyncIterator]() as NodeJS.AsyncIterator<Buffer>;
    // A stream that breaks is noticed where its end is.
    for (const stream of child.stdio) stream?.on("error", () => {});
    this.#errorOutput.setEncoding("utf8").on("data", this.#noteError);
    this.gone = new Promise((resolve) => {
      const over = (end: string): void => {
        this.#end = end;
        this.#lifeline.destroy();
        const rest = setTimeout(() => child.stdio.forEach((stream) => stream?.destroy()), REST_MS);
        child.once("close", () => {
          clearTimeout(rest);
          resolve();
        });
      };
      child.once("exit", (code, signal) =>
        over(code === null ? `it was ended by ${signal}` : `its exit code is ${code}`),
      );
      child.once("error", (error) => {
        over(error.message);
        resolve();
      });
    });
  }

  send(message: JsonObject): void {
    this.#bytes = 0;
    this.reply(message);
  }

  /** Does not restart the count of what the command writes. */
  reply(message: JsonObject): void {
    this.#input.write(`${JSON.stringify(message)}\n`);
  }

  /** It has ended, or was told to. */
  get isOver(): boolean {
    return this.#killed !== undefined || this.#end !== "" || this.#input.writableEnded;
  }

  /** Whether it reads what is sent. */
  get isReading(): boolean {
    return !this.#input.writableNeedDrain;
  }

  /** The next line. Rejects with the reason of `kill`, or a WorkflowError if the command ends. */
  async line(): Promise<Buffer> {
    const begun: Buffer[] = [];
    for (;;) {
      const end = this.#unread.indexOf("\n");
      begun.push(end < 0 ? this.#unread : this.#unread.subarray(0, end));
      if (end >= 0) {
        this.#unread = this.#unread.subarray(end + 1);
        return begun.length === 1 ? begun[0]! : Buffer.concat(begun);
      }
      this.#unread = await this.#piece();
    }
  }

  async #piece(): Promise<Buffer> {
    const next = await this.#pieces.next().catch(() => undefined);
    if (this.#killed) throw this.#killed.reason;
    if (!next || next.done) throw await this.#ended();
    this.#bytes += next.value.length;
    if (this.#bytes <= LIMITS.outputBytes) return next.value;
    const tooMuch = this.#tooMuch("before it answered");
    this.kill(tooMuch);
    throw tooMuch;
  }

  async #ended(): Promise<unknown> {
    this.leave();
    await this.gone;
    if (this.#killed) return this.#killed.reason;
    this.death = WorkflowError.of("communication", `${this.#name} ended before it answered: ${this.#end}`);
    return this.death;
  }

  readonly #noteError = (text: string): void => {
    this.errors += text;
    if (this.errors.length > LIMITS.outputBytes) this.kill(this.#tooMuch("to its error output"));
  };

  readonly #tooMuch = (where: string): WorkflowError =>
    WorkflowError.of("communication", `${this.#name} wrote more than ${LIMITS.outputBytes} bytes ${where}`);

  /** Ends its input, at which it should end by itself. */
  leave(): void {
    if (this.#input.writableEnded) return;
    this.#input.end();
    const over = new AbortController();
    void this.gone.then(() => over.abort());
    void until(this.#clock, this.#clock.now() + GOODBYE_MS, over.signal).then(
      () => this.#stop(),
      () => {},
    );
  }

  kill(reason: unknown): void {
    this.#killed ??= { reason };
    this.#stop();
  }

  #stop(): void {
    this.#lifeline.destroy();
    this.#output.destroy();
    this.#errorOutput.destroy();
  }
}

function started(words: readonly string[], env: Record<string, string>): ChildProcess {
  let child: ChildProcess;
  try {
    child = spawn("/bin/sh", ["-c", WATCHED, "sh", ...words], {
      cwd: "/",
      env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw notStarted(words, code === "E2BIG" ? "its arguments and environment are too large" : String(code));
  }
  if (child.stdout) return child;
  // Its error comes as an event, which would end the process if nothing listened.
  child.on("error", () => {});
  throw notStarted(words, "this process has too many open files");
}

const notStarted = (words: readonly string[], why: string): WorkflowError =>
  WorkflowError.of("communication", `${words[0]!} could not be started: ${why}`);

/**
 * The commands of one assistant. Each stays from its first call until the assistant ends or its run leaves memory, so that a server
 * finds again what it did before, and answers one call at a time.
 */
import { Slots } from "../../../fairness/slots.ts";
import type { OrganizationId } from "../../../lib/ids.ts";
import type { Interruption } from "../../../outbound/interruption.ts";
import { explained, interruptionOf, lineTo, started, type IdleCommand, type McpCommands } from "./commands.ts";
import { askCommand, beginWithCommand } from "./conversation.ts";
import type { Asked, Session } from "./message.ts";
import type { Way } from "./reader.ts";
import type { RunningCommand, Started } from "./running-command.ts";

export class KeptCommands implements Disposable {
  readonly #commands: McpCommands;
  readonly #kept = new Map<string, KeptCommand>();

  constructor(commands: McpCommands) {
    this.#commands = commands;
  }

  /** Rejects with WorkflowError. */
  ask(wanted: Started, way: Way, asked: Asked): Promise<void> {
    const words = JSON.stringify([wanted.command, wanted.arguments]);
    let kept = this.#kept.get(words);
    if (!kept) this.#kept.set(words, (kept = new KeptCommand(this.#commands, way.context.organizationId)));
    return kept.ask(wanted, way, asked);
  }

  [Symbol.dispose](): void {
    for (const kept of this.#kept.values()) kept.end();
  }
}

/** A process and its conversation. `session` undefined: it needs none. */
type Begun = { running: RunningCommand; environment: string; session?: { is: Session | undefined } };

class KeptCommand implements IdleCommand {
  readonly organizationId: OrganizationId;
  readonly #commands: McpCommands;
  readonly #turn = new Slots(1);
  #begun: Begun | undefined;
  /** The last message. */
  #id = 0;
  #isEnded = false;

  constructor(commands: McpCommands, organizationId: OrganizationId) {
    this.#commands = commands;
    this.organizationId = organizationId;
  }

  async ask(wanted: Started, way: Way, asked: Asked): Promise<void> {
    const { signal } = way.context;
    if (!(await this.#turn.take(this.organizationId, signal))) signal.throwIfAborted();
    try {
      // Its time begins with its turn: earlier calls take none of it.
      using interruption = interruptionOf(this.#commands, wanted, way);
      await this.#ask(wanted, way, asked, interruption);
    } finally {
      this.#rest();
      this.#turn.release(this.organizationId);
    }
  }

  async #ask(wanted: Started, way: Way, asked: Asked, interruption: Interruption): Promise<void> {
    const begun = await this.#begin(wanted, way, interruption);
    const { running } = begun;
    // Its words from earlier calls explain nothing.
    running.errors = "";
    const line = lineTo(wanted.command, running, way);
    try {
      begun.session ??= { is: await beginWithCommand(line, asked, undefined) };
      await askCommand(line, { ...asked, id: ++this.#id }, begun.session.is);
    } catch (error) {
      throw await explained(error, running, way);
    }
  }

  /** The process that is there, or another one if that has ended or has another environment. */
  async #begin(wanted: Started, way: Way, interruption: Interruption): Promise<Begun> {
    this.#commands.idle.delete(this);
    const environment = JSON.stringify(wanted.environment);
    if (this.#begun?.running.isOver || this.#begun?.environment !== environment) this.leave();
    const kept = this.#begun;
    if (kept) {
      interruption.stop = (reason) => kept.running.kill(reason);
      return kept;
    }
    const running = await started(this.#commands, wanted, way, interruption);
    const begun: Begun = { running, environment };
    this.#begun = begun;
    void running.gone.then(() => this.#forget(begun));
    return begun;
  }

  /** Also while it is idle. */
  #forget(begun: Begun): void {
    if (this.#begun === begun) this.leave();
  }

  /** Between two calls. */
  #rest(): void {
    if (this.#begun?.running.isOver || this.#isEnded || this.#commands.slots.contended) this.leave();
    if (this.#begun) this.#commands.idle.add(this);
  }

  leave(): void {
    this.#commands.idle.delete(this);
    this.#begun?.running.leave();
    this.#begun = undefined;
  }

  /** A call under way ends with its own signal, and the process after it. */
  end(): void {
    this.#isEnded = true;
    if (this.#commands.idle.has(this)) this.leave();
  }
}

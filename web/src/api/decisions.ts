/** The decisions made on this page: each can be taken back for a few seconds before it is sent. */
import type { DecideApprovalInput, Decision } from "./documents.ts";
import { Store } from "../lib/store.ts";
import { Refusal } from "./refusal.ts";

export const UNDO_MS = 5_000;

type Input = DecideApprovalInput;

/** `refusal`: the server's, once it was sent. `dueAt`: ms since 1970. */
export type Made = { input: Input; question: string; dueAt: number; isSending: boolean; refusal?: Refusal };

/** A decision in words: while it can be taken back, and after a refusal. */
export const VERBS: Record<Decision, { now: string; was: string }> = {
  approve: { now: "Approving", was: "approved" },
  reject: { now: "Rejecting", was: "rejected" },
};

/** When a page is left, browsers still send at most 64 kB for all of its requests together. */
const SHORT_BYTES = 8_000;

/** `isShort`: the page may be left while it is sent. Throws Refusal. */
type Send = (input: Input, isShort: boolean) => Promise<unknown>;

export class Decisions implements Disposable {
  /** In the order in which they were made. */
  readonly all = new Store<readonly Made[]>([]);
  readonly #send: Send;
  readonly #prepare: () => void;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** The answers of decisions that were taken back or refused, for their forms. */
  readonly #kept = new Map<string, Made>();
  /** Decisions of this page that the server accepted. */
  readonly #taken = new Set<string>();
  readonly #sending = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  /** `prepare`: gets what sending needs, as a page that is left has no time to ask for it. */
  constructor(send: Send, prepare: () => void) {
    this.#send = send;
    this.#prepare = prepare;
    const { signal } = this.#ending;
    // Leaving confirms a decision: closing or reloading the tab, or switching to another app on a phone.
    const leave = (): void => {
      if (document.visibilityState === "hidden") void this.sendAll();
    };
    document.addEventListener("visibilitychange", leave, { signal });
    addEventListener("pagehide", () => void this.sendAll(), { signal });
    // A long decision would not arrive, so the browser asks whether to stay.
    const ask = (event: Event): void => {
      if (this.#waiting.some(({ input }) => !isShort(input))) event.preventDefault();
    };
    addEventListener("beforeunload", ask, { signal });
  }

  get #waiting(): Made[] {
    return this.all.get().filter(({ isSending, refusal }) => !isSending && !refusal);
  }

  of(approvalId: string): Made | undefined {
    return this.all.get().find(({ input }) => input.approvalId === approvalId);
  }

  /** The answers that its form begins with, and why it was refused. */
  keptOf(approvalId: string): Made | undefined {
    return this.#kept.get(approvalId);
  }

  isTakenFromHere(approvalId: string): boolean {
    return this.#taken.has(approvalId);
  }

  /** Sends it in five seconds. */
  make(input: Input, question: string): void {
    const { approvalId } = input;
    this.#prepare();
    this.#kept.delete(approvalId);
    this.#put({ input, question, dueAt: Date.now() + UNDO_MS, isSending: false });
    this.#timers.set(
      approvalId,
      setTimeout(() => void this.#sendOne(approvalId), UNDO_MS),
    );
  }

  /** Takes it back and keeps its answers. False: it is too late. */
  undo(approvalId: string): boolean {
    const made = this.of(approvalId);
    if (!made || made.isSending || made.refusal) return false;
    this.#kept.set(approvalId, made);
    this.dismiss(approvalId);
    return true;
  }

  /** Takes back the last decision that is not sent yet. Returns its approval's id. */
  undoLast(): string | undefined {
    const id = this.#waiting.at(-1)?.input.approvalId;
    return id !== undefined && this.undo(id) ? id : undefined;
  }

  dismiss(approvalId: string): void {
    clearTimeout(this.#timers.get(approvalId));
    this.#timers.delete(approvalId);
    this.all.set(this.all.get().filter(({ input }) => input.approvalId !== approvalId));
  }

  /** Does not wait any longer. Resolves once all are answered, also those that were under way. */
  async sendAll(): Promise<void> {
    for (const { input } of this.#waiting) void this.#sendOne(input.approvalId);
    await Promise.all(this.#sending);
  }

  async #sendOne(approvalId: string): Promise<void> {
    const made = this.of(approvalId);
    if (!made || made.isSending) return;
    const sending = this.#sendMade(made);
    this.#sending.add(sending);
    await sending.finally(() => this.#sending.delete(sending));
  }

  async #sendMade(made: Made): Promise<void> {
    const { approvalId } = made.input;
    clearTimeout(this.#timers.get(approvalId));
    this.#put({ ...made, isSending: true });
    try {
      this.#taken.add(approvalId);
      await this.#send(made.input, isShort(made.input));
      this.dismiss(approvalId);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#taken.delete(approvalId);
      const refused = { ...made, isSending: false, refusal: error };
      this.#kept.set(approvalId, refused);
      this.#put(refused);
    }
  }

  /** Replaces an earlier decision for the same approval. */
  #put(made: Made): void {
    const others = this.all.get();
    const at = others.findIndex(({ input }) => input.approvalId === made.input.approvalId);
    this.all.set(at < 0 ? [...others, made] : others.with(at, made));
  }

  [Symbol.dispose](): void {
    this.#ending.abort();
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}

const isShort = (input: Input): boolean => new TextEncoder().encode(JSON.stringify(input)).length <= SHORT_BYTES;

/**
 * `call: assistant`: a model that calls tools until it has an answer. Each question to the model and each tool call is a step of
 * its own; when the run is resumed, the conversation is made again from those that are over.
 */
import { hash } from "node:crypto";
import type { BodyOf } from "../../definition/program.ts";
import { MAX_LIMITS, type LimitName } from "../../definition/tasks/assistant.ts";
import { quote } from "../../definition/text/problem.ts";
import { WorkflowError, lastSegment } from "../../definition/workflow-error.ts";
import type { RunId } from "../../lib/ids.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { valueIn } from "../../llm/answer.ts";
import type { AskModels } from "../calls/model/models.ts";
import type { Frame } from "../frame.ts";
import type { JournalStep, UnusedAnswers } from "../journal/loaded-run.ts";
import { ownKey } from "../journal/step-keys.ts";
import { withDeadline } from "../scope.ts";
import { runTogether } from "../side-by-side.ts";
import { ownSteps, type OwnOutcome, type OwnStep } from "../steps.ts";
import { askModel, limitError, misfitOf, type Asked } from "./ask-model.ts";
import { askMore } from "./ask-more.ts";
import { approvedCall, type Approved } from "./approve-call.ts";
import { callTool, type Reach } from "./call-tool.ts";
import { Conversation, type Reached, type Turn, type Wish } from "./conversation.ts";
import { listTools } from "./list-tools.ts";
import { agentForms, offeredTools, type OfferedTool } from "./offered-tools.ts";

export type AssistantReach = Reach & { models: AskModels };
type Body = BodyOf<"assistant">;

/** The trouble with a tool call. */
type Trouble = "unknown" | "arguments" | "failed";
/** The text that the model reads, and the trouble with the call. */
type Said = { text: string; trouble: Trouble | null };

/** A call that is not made: the trouble with it, and the error of its step. */
type Refused = { trouble: Trouble; type: "tool" | "authorization" | "validation"; why: string };

/** The assistant ends after this many answers in a row whose calls all went wrong in the same way. */
const MAX_TROUBLE = 3;

export class Assistant {
  #reach: AssistantReach;
  readonly #frame: Frame;
  readonly #body: Body;
  readonly #asked: Asked;
  readonly #own: OwnStep;
  #tools!: Map<string, OfferedTool>;
  /** Undefined while the tools are listed. */
  #conversation!: Conversation;
  /** The end of `limits.seconds`, ms. */
  #until: number | undefined;
  /** How many times a person was asked for more of each limit. */
  readonly #asks = new Map<LimitName, number>();
  readonly #granted: Partial<Record<LimitName, number>> = {};
  #trouble: { kind: Trouble | null; times: number } = { kind: null, times: 0 };
  /** The next steps follow this: the question of the assistant, then the newest answer of the model. */
  #follows = "";
  /** The answer did not fit once; the next one must. */
  #mustFit = false;

  constructor(reach: AssistantReach, frame: Frame, body: Body) {
    this.#reach = reach;
    this.#frame = frame;
    this.#body = body;
    this.#asked = frame.step.input as unknown as Asked;
    this.#own = this.#inConversation(ownSteps(frame, (before) => this.#isKept(before)));
  }

  async answer(): Promise<Json> {
    using mcp = this.#reach.mcp.keeping();
    this.#reach = { ...this.#reach, mcp };
    return await this.#answer();
  }

  async #answer(): Promise<Json> {
    this.#follows = this.#hash();
    const { step } = this.#frame;
    const { limits, answer } = this.#body;
    this.#until = limits.seconds && this.#since() + limits.seconds * 1_000;
    const forms = step.state.assistant?.forms ?? (await agentForms(this.#frame, this.#body));
    const listing: OwnStep = (what, work) =>
      this.#own(what, (own) => this.#inTime(own, this.#untilOfList(own.step), work));
    this.#tools = await offeredTools(this.#body, forms, (server, index) =>
      listTools(listing, this.#reach.mcp, server, index),
    );
    const told = {
      instructions: this.#asked.instructions,
      schema: answer?.schema,
      tools: [...this.#tools.values()].map(specOf),
    };
    this.#conversation = new Conversation(limits, this.#asked.messages, told);
    for (;;) {
      const unused = this.#unusedBefore(this.#before(keyOfModel(this.#conversation.modelCalls + 1)));
      if (unused) this.#conversation.addUnused(unused);
      const before = await this.#stopped(() => this.#reached());
      if (before) return this.#endAt(before);
      const turn = await this.#ask(false);
      if ("sentence" in turn) {
        const stopped = await this.#askMore(turn);
        if (!stopped) continue;
        return this.#endAt(stopped);
      }
      const { text, toolCalls } = turn;
      if (toolCalls.length > 0) {
        const reached = await this.#callAll(toolCalls);
        if (reached) return this.#endAt(reached);
        continue;
      }
      if (!answer) return text;
      const misfit = misfitOf(text, answer);
      if (misfit === undefined) return valueIn(text)!;
      this.#mustFit = true;
      this.#conversation.say(`This does not fit: ${misfit}. Answer once more, with JSON alone that fits the schema.`);
    }
  }

  #before(key: string): JournalStep | undefined {
    const { execution, step } = this.#frame;
    return execution.journal.step(ownKey(step.key) + key);
  }

  /**
   * An enclosing `try` tries again: what is over stays. A row with the same key may be of another conversation: what a person
   * decided there, and what a tool answered, hold for a call that this model never asked for. The model has read why a tool call
   * failed; a question that failed is asked again, and tools that changed are listed again: somebody may have accepted them. But a
   * question that a limit ended stays where a person is asked for more: the next one came after that decision.
   */
  #isKept({ kind, status, state }: JournalStep): boolean {
    if (state.follows !== this.#follows || state.hasChangedTools) return false;
    const isRead = kind === "tool" || (kind === "model" && state.reached !== undefined && this.#body.onLimit === "ask");
    return status === "completed" || (status === "failed" && isRead);
  }

  /** Each step says what it follows. Once committed, outputs are in the rows alone: the run is loaded again for one that is kept. */
  #inConversation(own: OwnStep): OwnStep {
    return async (what, work, within) => {
      const follows = this.#follows;
      const before = this.#before(what.key!);
      const isOver = before?.status === "completed" && this.#isKept(before);
      if (isOver && before.output === undefined) await this.#frame.execution.untilUnloaded();
      const unusedBefore = this.#unusedBefore(before);
      const begin = (frame: Frame): Promise<Json> => {
        Object.assign(frame.step.state, { follows, ...(unusedBefore && { unusedBefore }) });
        return work(frame);
      };
      return own(what, begin, within);
    };
  }

  /** The answers to the same question that earlier tries could not use. */
  #unusedBefore(step: JournalStep | undefined): UnusedAnswers | undefined {
    if (step?.state.follows !== this.#follows) return undefined;
    const { unusedBefore: before, unused } = step.state;
    // The answer of a question that is kept is counted with it.
    if (step.round === this.#frame.scope.round || !unused || this.#isKept(step)) return before;
    const { count, tokens, cost } = before ?? { count: 0, tokens: 0, cost: 0 };
    return { ...unused, count: count + unused.count, tokens: tokens + unused.tokens, cost: cost + unused.cost };
  }

  #hash(): string {
    const { granted: _, ...asked } = this.#asked;
    const { forms } = this.#frame.step.state.assistant ?? {};
    return hash("sha256", JSON.stringify([asked, forms]), "base64url").slice(0, HASH_CHARACTERS);
  }

  /** When the first try asked this, ms. */
  #since(): number {
    const { execution, step } = this.#frame;
    if (step.state.conversation?.hash !== this.#follows) {
      step.state.conversation = { hash: this.#follows, since: step.startedAt };
      execution.journal.touch(step);
    }
    return step.state.conversation.since;
  }

  #reached(): Reached | undefined {
    const { execution, step } = this.#frame;
    const ended = step.state.assistant?.ended;
    if (ended?.after === this.#conversation.modelCalls) return { limit: undefined, sentence: ended.limit, needed: 0 };
    const reached = this.#conversation.reached();
    if (reached || this.#until === undefined) return reached;
    // Once a person was asked here, what follows was begun in the time that they added.
    if (this.#isAskedHere("seconds")) return this.#conversation.reachedOf("seconds");
    if (execution.now() < this.#until) return undefined;
    // A question that was begun in time is over, or its own step says that it came too late.
    const isBegun = this.#isBegun(keyOfModel(this.#conversation.modelCalls + 1));
    return isBegun ? undefined : this.#conversation.reachedOf("seconds");
  }

  /** Whether a person was asked for more of this limit after as many questions to the model as now. */
  #isAskedHere(limit: LimitName): boolean {
    const key = keyOfLimit(limit, this.#asks.get(limit) ?? 0);
    return this.#isBegun(key) && this.#before(key)!.state.after === this.#conversation.modelCalls;
  }

  /** The limit that ends this: a person is asked for more, where the author wants that, until it is not reached any longer. */
  async #stopped(look: () => Reached | undefined): Promise<Reached | undefined> {
    for (;;) {
      const reached = look();
      const stopped = reached && (await this.#askMore(reached));
      if (!reached || stopped) return stopped;
    }
  }

  /** Undefined: a person has raised the limit. Else the limit, with what the person said. */
  async #askMore(reached: Reached): Promise<Reached | undefined> {
    const { limit, sentence, needed } = reached;
    if (this.#body.onLimit !== "ask" || limit === undefined) return reached;
    const { limits, used, currency, modelCalls } = this.#conversation;
    const room = MAX_LIMITS[limit] - limits[limit]!;
    if (needed > room) return reached;
    const times = this.#asks.get(limit) ?? 0;
    this.#asks.set(limit, times + 1);
    const more = await askMore(this.#own, {
      name: this.#frame.task.name,
      limit,
      value: limits[limit]!,
      written: this.#body.limits[limit]!,
      needed,
      room,
      currency,
      context: { reached: sentence, used: { ...used, ...this.#usedSeconds() } },
      key: keyOfLimit(limit, times),
      after: modelCalls,
    });
    if ("refusal" in more) return { ...reached, limit: undefined, sentence: `${sentence}; ${more.refusal}` };
    this.#raise(limit, more);
    return undefined;
  }

  #usedSeconds(): { seconds?: number } {
    const { seconds } = this.#conversation.limits;
    if (seconds === undefined) return {};
    return { seconds: seconds - Math.round((this.#until! - this.#frame.execution.now()) / 1_000) };
  }

  /** The time in which the person decided does not count. The step shows what was added. */
  #raise(
    limit: LimitName,
    { amount, waitedMs, decidedAt }: { amount: number; waitedMs: number; decidedAt: number },
  ): void {
    const { execution, step } = this.#frame;
    const { limits } = this.#conversation;
    limits[limit] = limits[limit]! + amount;
    if (this.#until !== undefined) this.#until += waitedMs;
    if (limit === "seconds") this.#until = Math.max(this.#until!, decidedAt) + amount * 1_000;
    const granted = (this.#granted[limit] ?? 0) + amount;
    this.#granted[limit] = granted;
    const shown = (step.input as Asked).granted;
    if ((shown?.[limit] ?? 0) >= granted) return;
    step.input = { ...this.#asked, granted: { ...this.#granted } };
    execution.journal.touch(step);
  }

  /** A list that is made again, amid a conversation, has time of its own: what people took or added is counted only after it. */
  #untilOfList({ startedAt }: JournalStep): number | undefined {
    const { seconds } = this.#body.limits;
    const firsts = [keyOfModel(1), ...Object.keys(MAX_LIMITS).map((limit) => keyOfLimit(limit as LimitName, 0))];
    const isAgain = firsts.some((key) => this.#isBegun(key));
    return isAgain && seconds !== undefined ? Math.max(this.#until!, startedAt + seconds * 1_000) : this.#until;
  }

  #late(): string {
    const conversation = this.#conversation as Conversation | undefined;
    return (
      conversation?.sentenceOf("seconds") ??
      `limits.seconds (${this.#body.limits.seconds}) is reached: no server listed its tools in time`
    );
  }

  /** In this try, or in one that it goes on with. */
  #isBegun(key: string): boolean {
    const step = this.#before(key);
    return step !== undefined && (step.round === this.#frame.scope.round || this.#isKept(step));
  }

  /** Throws `limit`, or asks a last question without tools. */
  async #endAt({ sentence: limit }: Reached): Promise<Json> {
    const { execution, step } = this.#frame;
    const { onLimit, answer } = this.#body;
    if (onLimit !== "answer") throw WorkflowError.of("limit", limit);
    const after = this.#conversation.modelCalls;
    if (step.state.assistant?.ended === undefined) {
      step.state.assistant = { ...step.state.assistant, ended: { after, limit } };
      execution.journal.touch(step);
    }
    this.#conversation.say("A limit is reached: no tool can be called any more. Answer now, with what is known.");
    this.#mustFit = true;
    const turn = await this.#ask(true);
    if ("sentence" in turn) throw WorkflowError.of("limit", turn.sentence);
    return answer ? valueIn(turn.text)! : turn.text;
  }

  async #ask(isLast: boolean): Promise<Turn | Reached> {
    const { answer } = this.#body;
    const conversation = this.#conversation;
    const key = keyOfModel(++conversation.modelCalls);
    const tools = isLast ? [] : [...this.#tools.values()].map(specOf);
    const outcome = await this.#own({ name: "model", kind: "model", key }, (own) => {
      const mustFit = this.#mustFit ? answer : undefined;
      const ask = (frame: Frame): Promise<Json> =>
        askModel(this.#reach.models, frame, { asked: this.#asked, conversation, tools, mustFit, isLast });
      return isLast ? ask(own) : this.#inTime(own, this.#until, ask);
    });
    if (outcome.error) {
      if (lastSegment(outcome.error.fields.type) !== "limit") throw outcome.error;
      const { reached: limit, unused } = outcome.step.state;
      // The question itself was counted.
      if (unused) conversation.addUnused({ ...unused, count: 0 });
      const { needed } = limit ? conversation.reachedOf(limit) : { needed: 0 };
      return { limit, sentence: outcome.error.fields.detail!, needed };
    }
    const turn = outcome.output as unknown as Turn;
    this.#follows = `${key} ${outcome.step.attempt}`;
    conversation.addTurn(turn);
    return turn;
  }

  #inTime(own: Frame, until: number | undefined, work: (frame: Frame) => Promise<Json>): Promise<Json> {
    if (until === undefined) return work(own);
    const { clock } = own.execution.shared;
    const late = (): WorkflowError => limitError(own.step, "seconds", this.#late());
    return withDeadline(clock, own.scope, until, (scope) => work({ ...own, scope }), late);
  }

  /** Calls the tools of one answer, or returns the limit that does not allow it. */
  async #callAll(calls: readonly Wish[]): Promise<Reached | undefined> {
    const conversation = this.#conversation;
    const stopped = await this.#stopped(() => {
      const needed = conversation.toolCalls + calls.length - conversation.limits.toolCalls;
      if (needed <= 0) return undefined;
      const reached = conversation.reachedOf("toolCalls", needed);
      return { ...reached, sentence: `${reached.sentence}, and the model asks for ${calls.length} more` };
    });
    if (stopped) {
      conversation.addResults(
        calls,
        calls.map(() => "Not called: the limit of tool calls is reached."),
      );
      return stopped;
    }
    conversation.toolCalls += calls.length;
    const said = await this.#callTogether(calls);
    conversation.addResults(
      calls,
      said.map(({ text }) => text),
    );
    this.#noteTrouble(said);
    return undefined;
  }

  async #callTogether(calls: readonly Wish[]): Promise<Said[]> {
    const { execution, scope } = this.#frame;
    const turn = this.#conversation.modelCalls;
    let open = calls.length;
    let until = this.#until;
    const frame: Frame = { ...this.#frame, scope: { ...scope, progress: () => {} } };
    const { output } = await runTogether(frame, calls.length, LIMITS.assistantToolsAtOnce, async (index, within) => {
      const place = `${turn}-${index + 1}#1`;
      const { said, waitedMs } = await this.#call(calls[index]!, place, (what, work) => this.#own(what, work, within));
      if (this.#until !== undefined) until = Math.max(until!, this.#until + waitedMs);
      // At once, where other branches wait for a tenth of a second: a tool may have paid.
      if (--open > 0) await execution.commit();
      return { output: said, then: "continue" };
    });
    this.#until = until;
    return output as unknown as Said[];
  }

  /** `waitedMs`: how long a person took to decide. `place`: in the conversation. */
  async #call(call: Wish, place: string, own: OwnStep): Promise<{ said: Said; waitedMs: number }> {
    const tool = this.#tools.get(call.name);
    const what = { name: call.name, kind: "tool", key: `tool-${place}` };
    const refusal = this.#refusalOf(call, tool);
    if (!tool || refusal) return { said: await this.#refuse(call, refusal!, (work) => own(what, work)), waitedMs: 0 };
    const question = `approval-${place}`;
    const isDecided = !this.#isBegun(question) && this.#isBegun(what.key);
    const approved: Approved = isDecided
      ? { arguments: call.arguments as JsonObject, waitedMs: 0 }
      : await approvedCall(this.#frame, tool, call, { isAsked: this.#isBegun(question), key: question, own });
    if ("refusal" in approved) return { said: { text: approved.refusal, trouble: null }, waitedMs: approved.waitedMs };
    const until = this.#until && this.#until + approved.waitedMs;
    const outcome = await own(what, (inner) =>
      this.#inTime(inner, until, (frame) => callTool(this.#reach, frame, tool, approved.arguments)),
    );
    await this.#countChild(tool, outcome.step.state.childId);
    const { waitedMs, note = "" } = approved;
    if (outcome.error) return { said: { text: note + failureText(outcome.error), trouble: "failed" }, waitedMs };
    const { output } = outcome;
    const text = typeof output === "string" ? output : JSON.stringify(output);
    return { said: { text: note + text, trouble: null }, waitedMs };
  }

  #refusalOf(call: Wish, tool: OfferedTool | undefined): Refused | undefined {
    if (!tool) {
      const names = [...this.#tools.keys()].join(", ") || "none";
      return { trouble: "unknown", type: "tool", why: `there is no tool ${quote(call.name)}; there are ${names}` };
    }
    if (tool.refused !== undefined) return { trouble: "failed", type: "authorization", why: tool.refused };
    const problem = argumentsProblem(tool, call);
    if (problem === undefined) return undefined;
    return { trouble: "arguments", type: "validation", why: `the arguments of ${call.name} do not fit: ${problem}` };
  }

  /** The step shows what the model asked for. */
  async #refuse(
    call: Wish,
    { trouble, type, why }: Refused,
    own: (work: (frame: Frame) => Promise<Json>) => Promise<OwnOutcome>,
  ): Promise<Said> {
    const { error } = await own(async ({ step, execution }) => {
      step.input = { arguments: call.arguments };
      execution.journal.touch(step);
      throw WorkflowError.of(type, why);
    });
    return { text: failureText(error!), trouble };
  }

  async #countChild({ written }: OfferedTool, childId: RunId | undefined): Promise<void> {
    if (written.is !== "agent" || childId === undefined) return;
    const { shared, journal } = this.#frame.execution;
    this.#conversation.addChild(await shared.surroundings.readChildUsage(journal.head.organizationId, childId));
  }

  /** Throws `tool`. */
  #noteTrouble(said: readonly Said[]): void {
    const [first] = said;
    const kind = said.every(({ trouble }) => trouble === first!.trouble) ? first!.trouble : null;
    this.#trouble = { kind, times: kind !== null && kind === this.#trouble.kind ? this.#trouble.times + 1 : 1 };
    if (kind !== null && this.#trouble.times >= MAX_TROUBLE)
      throw WorkflowError.of(
        "tool",
        `${MAX_TROUBLE} answers in a row asked for tool calls that ${WORDS[kind]}. The last: ${first!.text}`,
      );
  }
}

const HASH_CHARACTERS = 22;

const WORDS: Record<Trouble, string> = {
  unknown: "name no tool",
  arguments: "have arguments that do not fit",
  failed: "failed",
};

const keyOfModel = (number: number): string => `model-${number}#1`;
/** `times`: how many times it was reached before. */
const keyOfLimit = (limit: LimitName, times: number): string => `limit-${limit}-${times + 1}#1`;

const specOf = ({
  name,
  description,
  parameters,
}: OfferedTool): { name: string; description: string; parameters: JsonObject } => ({
  name,
  description,
  parameters,
});

function argumentsProblem({ check }: OfferedTool, { arguments: given }: Wish): string | undefined {
  return typeof given === "string" ? "they are not a JSON object" : check?.(given);
}

const SHOWN_CHARACTERS = 4_000;

/** An error as the model reads it. */
function failureText({ fields: { title, detail, response } }: WorkflowError): string {
  const body = response?.body ?? null;
  const text = body === null ? "" : typeof body === "string" ? body : JSON.stringify(body);
  return `Error: ${detail ?? title}${text === "" ? "" : `\n${text.slice(0, SHOWN_CHARACTERS)}`}`;
}

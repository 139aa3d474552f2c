/**
 * `listen`: waits for events. The step is committed with what it listens to; from then on, who publishes an event finds it by a key and
 * tells the run. What was published before, since the run was started, is looked through once.
 */
import type { BodyOf } from "../../definition/program.ts";
import type { Takes } from "../../definition/tasks/listen.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { newId, timeOfId, type EventId } from "../../lib/ids.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { evaluate } from "../evaluate.ts";
import type { EventDoor, ReadEvent } from "../events/event-door.ts";
import type { Frame, RunTask } from "../frame.ts";
import { runBlock } from "../interpreter.ts";
import type { JournalStep, Listening, TakenEvent } from "../journal/loaded-run.ts";
import { keyInside } from "../journal/step-keys.ts";
import { checkedValues, EventMatcher, keyOf, listenedOf } from "../events/listening.ts";
import { inside, type Result } from "../scope.ts";
import { truthy } from "../variables.ts";

type Body = BodyOf<"listen">;

/** The output is the list of what was read of each event taken, or of what `foreach` made of it. */
export const createRunListen =
  (door: EventDoor): RunTask<Body> =>
  async (frame, body) => {
    await begin(frame, body, door);
    const listen = new Listen(frame, body, door);
    const left = await listen.untilOver();
    const { listening } = frame.step.state;
    const output = listening!.taken.map((one) => one.output ?? one.value ?? null);
    return left?.then === "end" ? { output, then: "end" } : { output, then: frame.task.then };
  };

async function begin(frame: Frame, body: Body, door: EventDoor): Promise<void> {
  const { execution, input, step, variables } = frame;
  const { journal } = execution;
  const { listening: before } = step.state;
  if (before && !before.isKept) return;
  const values = before?.values ?? checkedValues(await evaluate(execution, body.arguments, input, variables, step));
  const filters = [...body.filters, ...untilFilters(body)];
  const events = values.map((value, index) => listenedOf(value, filters[index]!));
  const looksUntil = await door.expect(journal.head.organizationId, events);
  const keys = values.map((value, index) => keyOf(value, filters[index]!));
  await journal.listen(step, keys, execution.now());
  step.input = values;
  const { isKept: _, hasLookedBack: __, ...kept } = before ?? { values, taken: [], ended: [], bytes: 0 };
  step.state.listening = { ...kept, id: newId<"event">(), looksUntil };
  journal.touch(step);
  // Only what is committed is heard.
  await execution.commit();
}

const untilFilters = ({ until }: Body): Body["filters"] => (until && "filters" in until ? until.filters : []);

/** The events are read so many at a time. */
const READ_AT_ONCE = 50;

class Listen {
  readonly #frame: Frame;
  readonly #body: Body;
  readonly #door: EventDoor;
  readonly #state: Listening;
  readonly #matcher: EventMatcher;
  /** Those that earlier steps took. */
  readonly #takenBefore: ReadonlySet<string>;
  /** Those that it need not look at. */
  readonly #known: Set<string>;

  constructor(frame: Frame, body: Body, door: EventDoor) {
    this.#frame = frame;
    this.#body = body;
    this.#door = door;
    this.#state = frame.step.state.listening!;
    this.#matcher = new EventMatcher(frame, [...body.filters, ...untilFilters(body)], this.#state);
    this.#takenBefore = takenBefore(frame.execution.journal.steps, frame.step);
    this.#known = new Set(this.#takenBefore);
    for (const { id } of [...this.#state.taken, ...this.#state.ended]) this.#known.add(id);
  }

  /** Returns the result of the tasks that left the list early. */
  async untilOver(): Promise<Result | undefined> {
    const { execution, scope } = this.#frame;
    let left = await this.#finishItems();
    while (!left && !this.#state.isOver) {
      const { heard } = execution.branches;
      left = await this.#look();
      if (left || this.#state.isOver) break;
      if (execution.branches.heard !== heard) continue;
      const { id, looksUntil, hasLookedBack } = this.#state;
      await execution.waitForEvent(id, hasLookedBack ? null : looksUntil, scope);
    }
    return left;
  }

  async #look(): Promise<Result | undefined> {
    const { execution, step } = this.#frame;
    const { head } = execution.journal;
    const ids = (await this.#door.heard(head)).filter((one) => one.step === step.number).map(({ id }) => id);
    if (ids.length > LIMITS.eventsHeard)
      throw WorkflowError.of("limit", `more than ${LIMITS.eventsHeard} events wait for this step`);
    const isLast = execution.now() >= this.#state.looksUntil;
    const before = this.#state.hasLookedBack ? [] : await this.#lookBack();
    const wanted = [...new Set([...before, ...ids])].filter((id) => !this.#known.has(id)).toSorted();
    for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
      const page = wanted.slice(at, at + READ_AT_ONCE);
      for (const event of await this.#door.read(head, page)) {
        const turn = execution.turn();
        if (turn) await turn;
        const left = await this.#offer(event);
        if (left || this.#state.isOver) return left;
      }
    }
    for (const id of ids) execution.journal.unhear(step, id);
    if (isLast) this.#state.hasLookedBack = true;
    execution.journal.touch(step);
    return undefined;
  }

  /** Finds events and signals that came before the step listened, since its run was started. */
  async #lookBack(): Promise<EventId[]> {
    const { head } = this.#frame.execution.journal;
    const [events, signals] = await Promise.all([
      this.#door.published(head, this.#events, sinceOf(head)),
      this.#door.signals(head),
    ]);
    const taken = signals.filter(({ id }) => this.#takenBefore.has(id));
    if (taken.length > 0)
      await this.#door.tookSignals(
        head,
        taken.map(({ id }) => id),
      );
    const types = new Set(this.#events.map(({ type }) => type));
    return [...events, ...signals.filter(({ name }) => types.has(name)).map(({ id }) => id)];
  }

  get #events(): ReturnType<typeof listenedOf>[] {
    const filters = [...this.#body.filters, ...untilFilters(this.#body)];
    return this.#state.values.map((value, index) => listenedOf(value, filters[index]!));
  }

  /** Takes the event, if a filter that still wants one does. */
  async #offer(event: ReadEvent): Promise<Result | undefined> {
    const { filters } = this.#body;
    this.#known.add(event.id);
    const ending = untilFilters(this.#body);
    const ends = await this.#matcher.first(event, this.#wanted("end", filters.length, ending.length));
    if (ends !== undefined) {
      this.#take(this.#state.ended, { id: event.id, filter: ends });
      const { takes } = this.#body.until as { takes: Takes };
      if (isFull(this.#state.ended, takes, ending.length)) this.#state.isOver = true;
      return undefined;
    }
    const filter = await this.#matcher.first(event, this.#wanted("take", 0, filters.length));
    if (filter === undefined) return undefined;
    await this.#keep({ id: event.id, filter, value: readAs(event, this.#body.read) });
    return this.#finishItems();
  }

  /** The filters that may take an event now. */
  #wanted(what: "take" | "end", from: number, count: number): number[] {
    const takes = what === "take" ? this.#body.takes : count > 0 ? (this.#body.until as { takes: Takes }).takes : "any";
    const all = Array.from({ length: count }, (_, index) => from + index);
    if (takes !== "all") return all;
    const taken = new Set((what === "take" ? this.#state.taken : this.#state.ended).map(({ filter }) => filter));
    return all.filter((index) => !taken.has(index));
  }

  #take(list: TakenEvent[], taken: TakenEvent): void {
    list.push(taken);
    this.#frame.execution.journal.touch(this.#frame.step);
  }

  async #keep(taken: TakenEvent): Promise<void> {
    const { execution, step } = this.#frame;
    if (this.#state.taken.length >= LIMITS.eventsTaken)
      throw WorkflowError.of("limit", `a step takes at most ${LIMITS.eventsTaken} events`);
    this.#count(JSON.stringify(taken.value).length);
    const room = execution.holdRow(step, taken.value!);
    if (room) await room;
    this.#take(this.#state.taken, taken);
  }

  #count(bytes: number): void {
    this.#state.bytes += bytes;
    if (this.#state.bytes > LIMITS.outputBytes)
      throw WorkflowError.of("runtime", `an output has at most ${LIMITS.outputBytes} bytes`);
  }

  /** Runs the tasks of `foreach` for what was taken, one after another, and decides whether that is all. */
  async #finishItems(): Promise<Result | undefined> {
    for (const [index, one] of this.#state.taken.entries()) {
      if (one.isDone) continue;
      const left = await this.#finishItem(one, index);
      if (left) return left;
      if (await this.#isOver()) this.#state.isOver = true;
      this.#frame.execution.journal.touch(this.#frame.step);
    }
    return undefined;
  }

  async #finishItem(one: TakenEvent, index: number): Promise<Result | undefined> {
    const { execution, scope, step, variables } = this.#frame;
    const { blocks, item, at, outputAs } = this.#body;
    const value = one.value!;
    const own = { [item]: value, [at]: index };
    let result: Result = { output: value, then: "continue" };
    if (blocks.do) {
      const prefix = keyInside(step.key, blocks.do.way, index + 1);
      const within = inside(scope, prefix, { variables: { ...scope.variables, ...own }, progress: () => {} });
      result = await runBlock(this.#frame, blocks.do, value, within);
    }
    const output = outputAs
      ? await evaluate(execution, outputAs, result.output, (used) => ({ ...variables(used), ...own }), step)
      : result.output;
    one.isDone = true;
    if (output !== value) {
      this.#count(JSON.stringify(output).length - JSON.stringify(value).length);
      one.output = output;
      delete one.value;
    }
    execution.journal.touch(step);
    return result.then === "exit" || result.then === "end" ? result : undefined;
  }

  async #isOver(): Promise<boolean> {
    const { takes, until, filters } = this.#body;
    const { taken } = this.#state;
    if (takes !== "any") return isFull(taken, takes, filters.length);
    if (!until) return true;
    if (!("condition" in until)) return false;
    const { execution, variables } = this.#frame;
    const all = taken.map((one) => one.output ?? one.value ?? null);
    return truthy(await evaluate(execution, until.condition, all, variables));
  }
}

const isFull = (taken: readonly TakenEvent[], takes: Takes, count: number): boolean =>
  takes === "all" ? new Set(taken.map(({ filter }) => filter)).size === count : taken.length > 0;

/** The events that steps of the run took that were over when this one began: each event is taken once by steps that follow one another. */
function takenBefore(steps: Iterable<JournalStep>, own: JournalStep): Set<string> {
  const taken = new Set<string>();
  for (const { state, finishedAt, number } of steps) {
    // A branch beside it also hears what it hears, and may have ended long before it looks again.
    if (number >= own.number || finishedAt === null || finishedAt > own.startedAt) continue;
    for (const id of state.taken ?? []) taken.add(id);
    if (state.listening) for (const { id } of [...state.listening.taken, ...state.listening.ended]) taken.add(id);
  }
  return taken;
}

/** When the run was started, or the one that it retries; a run that was to start later waited for nothing before. */
const sinceOf = ({ createdAt, runAt, retryOf }: Frame["execution"]["journal"]["head"]): number =>
  Math.max(retryOf ? timeOfId(retryOf) : createdAt, runAt ?? 0);

function readAs(event: ReadEvent, read: Body["read"]): Json {
  if (read === "data") return event.data;
  return read === "raw" ? JSON.stringify(event.data) : envelopeOf(event);
}

/** As a CloudEvent. */
export const envelopeOf = ({ sourceId, source, type, subject, time, data }: ReadEvent): JsonObject => ({
  specversion: "1.0",
  id: sourceId,
  source,
  type,
  ...(subject !== null && { subject }),
  time: time.toISOString(),
  datacontenttype: "application/json",
  data,
});

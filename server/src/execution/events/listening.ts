/** The filters of a step that listens, and whether an event is one for them. */
import type { EventFilter } from "../../definition/tasks/listen.ts";
import { fieldsOf } from "../../definition/tasks/listen.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { hashOfKey, isKeyPath, type KeyPath } from "../../lib/events/event-key.ts";
import { checkFilter, compileFilter, Fields, unmatched, type Filter } from "../../lib/events/event-filter.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { asWorkflowError, evaluate } from "../evaluate.ts";
import type { ListenedEvent, ReadEvent } from "./event-door.ts";
import type { Frame } from "../frame.ts";
import type { Listening } from "../journal/loaded-run.ts";
import { truthy } from "../variables.ts";

/** Throws WorkflowError for what no event can have. */
export function checkedValues(values: Json): JsonObject[] {
  return (values as JsonObject[]).map((value) => {
    for (const name of ["type", "source", "subject", "id"]) {
      const text = value[name];
      if (text === undefined && name !== "type") continue;
      if (typeof text !== "string" || text === "" || text.length > LIMITS.eventNameCharacters)
        throw cannotListen(`${name} must be a text of 1 to ${LIMITS.eventNameCharacters} characters`);
    }
    const { data } = value;
    if (!isObject(data) || !isObject(data["fields"])) return value;
    const fields = fieldsOf(data["fields"]);
    checkFilter(fields, {
      add: (key, _, message) => {
        throw cannotListen(`${key.replace(/^filter/, "data")} ${message}`);
      },
    });
    return { ...value, data: { fields } };
  });
}

const cannotListen = (why: string): WorkflowError => WorkflowError.of("validation", `cannot listen: ${why}`);

const fieldsIn = ({ data }: JsonObject): JsonObject | undefined =>
  isObject(data) && isObject(data["fields"]) ? data["fields"] : undefined;

/** One value of the data by which the step is found among all that listen to such events; undefined: none is known. */
function keyIn(value: JsonObject, { correlations }: EventFilter): { path: KeyPath; value: Json } | undefined {
  const expected = value["expect"];
  for (const { name, path } of correlations) {
    const known = isObject(expected) ? expected[name] : undefined;
    if (path && isKeyPath(path) && known !== undefined && known !== null && isScalar(known))
      return { path, value: known };
  }
  for (const [field, values] of Object.entries(fieldsIn(value) ?? {}))
    if (isKeyPath(field) && Array.isArray(values) && values.length === 1) return { path: field, value: values[0]! };
  return undefined;
}

export function listenedOf(value: JsonObject, filter: EventFilter): ListenedEvent {
  const source = value["source"] as string | undefined;
  return { type: value["type"] as string, source, path: keyIn(value, filter)?.path };
}

export function keyOf(value: JsonObject, filter: EventFilter): string {
  const { type, source } = listenedOf(value, filter);
  return hashOfKey({ type, source, ...keyIn(value, filter) });
}

/** The filters of a step, as they look at events. */
export class EventMatcher {
  readonly #frame: Frame;
  readonly #filters: readonly EventFilter[];
  readonly #state: Listening;
  readonly #fields: (Filter | undefined)[];

  constructor(frame: Frame, filters: readonly EventFilter[], state: Listening) {
    this.#frame = frame;
    this.#filters = filters;
    this.#state = state;
    this.#fields = state.values.map((value) => {
      const fields = fieldsIn(value);
      return fields && compileFilter(fields);
    });
  }

  /** The first of these filters that takes the event. What its correlations found first is expected from then on. */
  async first(event: ReadEvent, among: readonly number[]): Promise<number | undefined> {
    for (const index of among) {
      const found = this.#hasAttributes(event, index) && (await this.#correlated(event, index));
      if (!found) continue;
      if (Object.keys(found).length > 0) this.#state.expected = { ...this.#state.expected, ...found };
      return index;
    }
    return undefined;
  }

  #hasAttributes(event: ReadEvent, index: number): boolean {
    const { type, source, subject, id } = this.#state.values[index]!;
    const fits = (wanted: Json | undefined, has: string | null): boolean => wanted === undefined || wanted === has;
    if (!fits(type, event.type) || !fits(source, event.source)) return false;
    if (!fits(subject, event.subject) || !fits(id, event.sourceId)) return false;
    const fields = this.#fields[index];
    return !fields || unmatched(fields, new Fields(event.data)) === undefined;
  }

  /** The values that it gives for correlations that expect nothing yet; undefined: it does not correlate, or the condition is false. */
  async #correlated(event: ReadEvent, index: number): Promise<JsonObject | undefined> {
    const { execution, variables } = this.#frame;
    const { condition, correlations } = this.#filters[index]!;
    const expect = this.#state.values[index]!["expect"];
    const found: JsonObject = {};
    try {
      if (condition && !truthy(await evaluate(execution, condition, event.data, variables))) return undefined;
      for (const { name, from } of correlations) {
        const value = await evaluate(execution, from, asSeen(event), variables);
        const expected = (isObject(expect) ? expect[name] : undefined) ?? this.#state.expected?.[name];
        if (expected === undefined && value !== null) found[name] = value;
        else if (JSON.stringify(value) !== JSON.stringify(expected)) return undefined;
      }
    } catch (error) {
      // An event that an expression can't read is none that the step listens to: who publishes must not fail runs.
      if (asWorkflowError(error)) return undefined;
      throw error;
    }
    return found;
  }
}

/** The input of `correlate.from`: the event's attributes, and the fields of its data that have no such name. */
const asSeen = ({ data, sourceId, source, type, subject, time }: ReadEvent): JsonObject => ({
  ...data,
  id: sourceId,
  source,
  type,
  subject,
  time: time.toISOString(),
  data,
});

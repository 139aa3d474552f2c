/**
 * Arguments of a call that name secrets. They are kept and shown with `[secret NAME]` in the place of each, and filled in with the
 * present values for each attempt.
 */
import type { CallArguments } from "../../definition/tasks/program-parts.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { ExpressionError } from "../../expressions/parsing/expression-error.ts";
import type { SecretArguments } from "../../expressions/secret-arguments.ts";
import type { Path } from "../../expressions/template.ts";
import type { Charge } from "../../fairness/fair-pool.ts";
import { inTurns, type Steps } from "../../fairness/slices.ts";
import { isObject, isScalar, type Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { SecretValues } from "../../secrets/secret.ts";
import { evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import { heldBytesOf, LEAST_HELD_BYTES, tooLarge } from "../memory.ts";
import { evaluateWithSecrets, NOTHING_SENT } from "./authentication.ts";

/** The arguments as they are kept and shown. Rejects with WorkflowError. */
export function shownArguments(
  { execution, input, step, variables }: Frame,
  { arguments: template, secretive }: CallArguments,
): Json | Promise<Json> {
  if (!secretive) return evaluate(execution, template, input, variables, step);
  const { shown, placeholders } = secretive;
  return evaluate(execution, shown, input, (used) => ({ ...variables(used), secrets: placeholders }), step);
}

export type Filling = {
  /** JSON pointer to the arguments. */
  place: string;
  secrets: SecretValues;
  signal: AbortSignal;
  /** How a sentence about what fails ends. */
  so?: string;
  /** Finds the kept result of an expression that names no secret. */
  kept(path: Path): Json;
};

/** `made`: the texts that expressions made of secrets, beyond passing them on: what comes back is searched for these, too. */
export type Filled = { values: Json; made: readonly string[] };

/** Calls `work` with the arguments as they are sent, which count as memory until it is done. Rejects with WorkflowError. */
export async function withFilled<Result>(
  frame: Frame,
  secretive: SecretArguments,
  { place, secrets, signal, so, kept }: Filling,
  work: (filled: Filled) => Promise<Result>,
): Promise<Result> {
  const { shared, journal } = frame.execution;
  using charge = shared.memory.open(journal.head.organizationId);
  const written = { template: secretive.secretive, place };
  const evaluated = async (): Promise<Json[]> => (await evaluateWithSecrets(frame, written, secrets, so)) as Json[];
  let results = await evaluated();
  const bytes = heldBytesOf(results);
  if (!hasRoom(charge, bytes)) {
    if (bytes > shared.memory.most) throw tooLarge(bytes);
    // Released while it waits, and made again.
    results = [];
    await charge.hold(bytes, signal);
    signal.throwIfAborted();
    results = await evaluated();
  }
  const made = await inTurns(madeOf(secretive, results, await dataIn(frame, secretive, results)), () =>
    frame.execution.turn(),
  );
  return await work({ values: secretive.assemble(results, kept), made });
}

/** Most are small, and cost less than counting them. */
const hasRoom = (charge: Charge, bytes: number): boolean => bytes <= LEAST_HELD_BYTES || charge.tryHold(bytes);

/** Every answer is searched for each. */
const MAX_MADE_IN_ONE = 100;
const TEXTS_PER_STEP = 10_000;

/** A list or an object has texts of its own, which its data without the secrets lacks. A text that is larger than a secret is no credential. */
function* madeOf(
  { secretive }: SecretArguments,
  results: readonly Json[],
  data: ReadonlyMap<number, Json>,
): Steps<string[]> {
  const made: string[] = [];
  for (const [at, { altersSecrets }] of secretive.expressions.entries()) {
    if (!altersSecrets) continue;
    const known = new Set<string>();
    for (const text of textsIn(data.get(at) ?? null)) if (known.add(text).size % TEXTS_PER_STEP === 0) yield;
    const own = new Set<string>();
    let read = 0;
    for (const text of textsIn(results[at]!)) {
      if (++read % TEXTS_PER_STEP === 0) yield;
      if (!known.has(text) && text.length <= LIMITS.secretBytes) own.add(text);
      if (own.size === MAX_MADE_IN_ONE) break;
    }
    made.push(...own);
  }
  return made;
}

/** The lists and objects that expressions make of secrets, with `[secret NAME]` in their place: those texts are data. */
async function dataIn(
  { execution, input, variables }: Frame,
  { secretive, placeholders }: SecretArguments,
  results: readonly Json[],
): Promise<ReadonlyMap<number, Json>> {
  const data = new Map<number, Json>();
  for (const [at, one] of secretive.expressions.entries()) {
    if (!one.altersSecrets || isScalar(results[at]!)) continue;
    const alone = { ...secretive, expressions: [one], assemble: ([result]: readonly Json[]) => result! };
    try {
      data.set(at, await evaluate(execution, alone, input, (used) => ({ ...variables(used), secrets: placeholders })));
    } catch (error) {
      // It needs the secret's own text, such as a JSON: then none of its texts is known as data.
      if (!(error instanceof ExpressionError || error instanceof WorkflowError)) throw error;
    }
  }
  return data;
}

function* textsIn(value: Json): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (isObject(value))
    for (const [key, child] of Object.entries(value)) {
      yield key;
      yield* textsIn(child);
    }
}

/** Makes a request of filled arguments. A refusal of it may repeat a value, so it only says where. */
export function withoutReason<Result>(place: string, make: () => Result, so = NOTHING_SENT): Result {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof WorkflowError)) throw error;
    const message = `what ${place} yields with its secrets can't be sent, ${so}; why is not shown, because it may contain a secret`;
    throw WorkflowError.of("expression", message);
  }
}

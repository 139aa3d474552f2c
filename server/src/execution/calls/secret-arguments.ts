/**
 * Arguments of a call that name secrets. They are kept and shown with `[secret NAME]` in the place of each, and filled in with the
 * present values for each attempt.
 */
import type { CallArguments } from "../../definition/tasks/program-parts.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { SecretArguments } from "../../expressions/secret-arguments.ts";
import type { Path } from "../../expressions/template.ts";
import type { Charge } from "../../fairness/fair-pool.ts";
import type { Json } from "../../lib/json/json.ts";
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
  return await work({ values: secretive.assemble(results, kept), made: madeOf(secretive, results) });
}

/** Most are small, and cost less than counting them. */
const hasRoom = (charge: Charge, bytes: number): boolean => bytes <= LEAST_HELD_BYTES || charge.tryHold(bytes);

/** A text that is larger than a secret is no credential, and every answer would be searched for it. */
const madeOf = ({ secretive }: SecretArguments, results: readonly Json[]): string[] =>
  secretive.expressions.flatMap(({ altersSecrets }, at) => {
    const result = results[at]!;
    return altersSecrets && typeof result === "string" && result.length <= LIMITS.secretBytes ? [result] : [];
  });

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

/** The arguments and the environment that a command is given. Both throw WorkflowError: nothing is started while a value is missing. */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { isScalar, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { isStorable } from "../../../lib/text.ts";
import type { Frame } from "../../frame.ts";
import { evaluateWithSecrets, type Authentication } from "../authentication.ts";

type Environment = Parameters<typeof evaluateWithSecrets>[1];

export const wordsOf = (words: Json = [], place: string): string[] =>
  (words as Json[]).map((word, index) => wordOf(word, `${place}/${index}`));

export async function environmentOf(
  frame: Frame,
  environment: Environment | undefined,
  { secrets }: Authentication,
): Promise<Record<string, string>> {
  if (!environment) return {};
  const values = (await evaluateWithSecrets(frame, environment, secrets)) as JsonObject;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, wordOf(value, `${environment.place}/${name}`)]),
  );
}

/** As the command gets it: a text without NUL, which ends one there. */
function wordOf(value: Json, place: string): string {
  const isWord = value !== null && isScalar(value);
  if (isWord && isStorable(String(value))) return String(value);
  const what = isWord ? "not a text that a command can be given" : "not a text";
  throw WorkflowError.of("expression", `${place} is ${what}, so nothing was sent`);
}

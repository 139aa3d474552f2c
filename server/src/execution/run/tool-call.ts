/** A tool call of an assistant that a person decides on. It is kept in the place of the approval's form, which no author can write like this. */
import { compileSchema } from "../../definition/schema/schema-check.ts";
import type { FieldProblem } from "../../lib/errors.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";

export type ToolCall = {
  /** As the model was offered it. */
  name: string;
  arguments: JsonObject;
  /** JSON Schema of the arguments. */
  parameters: JsonObject;
  /** Whether changed arguments are checked: a server's own schema may cost anything to follow. */
  isChecked: boolean;
  /** Whether `parameters` can be shown as a form. */
  isForm: boolean;
};

/** As it is kept. */
export const keptToolCall = (toolCall: ToolCall): JsonObject => ({ toolCall });

/** `kept`: an approval's form, or the tool call in its place. */
export const toolCallIn = (kept: JsonObject | null | undefined): ToolCall | undefined =>
  kept?.["toolCall"] as ToolCall | undefined;

export const formIn = (kept: JsonObject | null | undefined): JsonObject | undefined =>
  kept && !toolCallIn(kept) ? kept : undefined;

/** The arguments that a person gave in place of the model's. */
export function changedArguments(answer: Json): JsonObject | undefined {
  const given = isObject(answer) ? answer["arguments"] : undefined;
  return isObject(given) ? given : undefined;
}

/** The problem with the answer to such an approval, which is `{arguments}` or nothing. `path`: the answer's. */
export function toolAnswerProblem(
  { isChecked, parameters }: ToolCall,
  answer: Json | undefined,
  path: string,
): FieldProblem | undefined {
  if (answer === undefined || answer === null) return undefined;
  if (!isObject(answer)) return { path, code: "wrong_type", message: "must be an object with arguments" };
  const other = Object.keys(answer).find((key) => key !== "arguments");
  if (other !== undefined) return { path: `${path}.${other}`, code: "unknown", message: "is not arguments" };
  const given = answer["arguments"];
  if (given === undefined) return undefined;
  const at = `${path}.arguments`;
  if (!isObject(given)) return { path: at, code: "wrong_type", message: "must be an object" };
  const misfit = isChecked ? compileSchema(parameters)(given) : undefined;
  return misfit === undefined ? undefined : { path: at, code: "invalid", message: misfit };
}

/** The messages that a task sends to a model, from what the author wrote. */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";

/** As a step keeps and shows it. */
export type AskedMessage = { role: "user" | "assistant"; content: string };

/** A text as it is, anything else as JSON. Throws `validation`. */
export function textOf(value: Json, place: string): string {
  if (value === null || value === "")
    throw WorkflowError.of("validation", `${place} is ${value === null ? "null" : "empty"}, so nothing was asked`);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** From `prompt` or `messages`. Throws `validation`. */
export const messagesIn = ({ prompt, messages }: JsonObject): AskedMessage[] =>
  messages === undefined ? [{ role: "user", content: textOf(prompt!, "prompt") }] : messagesOf(messages);

function messagesOf(messages: Json): AskedMessage[] {
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > LIMITS.modelMessages)
    throw WorkflowError.of(
      "validation",
      `messages must be a list of 1 to ${LIMITS.modelMessages} messages, so nothing was asked`,
    );
  return messages.map((message, index) => {
    const { role, content } = isObject(message) ? message : {};
    if ((role !== "user" && role !== "assistant") || content === undefined)
      throw WorkflowError.of(
        "validation",
        `messages[${index}] must have content and the role user or assistant, so nothing was asked`,
      );
    return { role, content: textOf(content, `messages[${index}].content`) };
  });
}

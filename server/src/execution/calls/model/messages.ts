/** The messages that a task sends to a model, from what the author wrote. */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Message } from "../../../llm/call-model.ts";
import { fileUrlProblem, type FileSource } from "./files.ts";

/** As a step keeps and shows it. `files`: their URLs. */
export type AskedMessage = { role: "user" | "assistant"; content: string; files?: string[] };

/** A message whose files are still to be read. */
export type UnreadMessage =
  | Exclude<Message, { role: "user" }>
  | { role: "user"; text: string; sources?: readonly FileSource[] };

export const unread = (messages: readonly AskedMessage[]): UnreadMessage[] =>
  messages.map(({ role, content, files }, index) => {
    if (role === "assistant" || files === undefined) return { role, text: content };
    const before = messages.length > 1 ? `messages[${index}].` : "";
    return { role, text: content, sources: files.map((url, at) => ({ url, place: `${before}files[${at}]` })) };
  });

/** A text as it is, anything else as JSON. Throws `validation`. */
export function textOf(value: Json, place: string): string {
  if (value === null || value === "")
    throw WorkflowError.of("validation", `${place} is ${value === null ? "null" : "empty"}, so nothing was asked`);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** From `prompt` or `messages`. Throws `validation`. */
export const messagesIn = ({ prompt, messages, files }: JsonObject): AskedMessage[] =>
  messages === undefined
    ? [{ role: "user", content: textOf(prompt!, "prompt"), ...filesOf(files, "files") }]
    : messagesOf(messages);

function messagesOf(messages: Json): AskedMessage[] {
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > LIMITS.modelMessages)
    throw WorkflowError.of(
      "validation",
      `messages must be a list of 1 to ${LIMITS.modelMessages} messages, so nothing was asked`,
    );
  const asked = messages.map((message, index): AskedMessage => {
    const { role, content, files } = isObject(message) ? message : {};
    if ((role !== "user" && role !== "assistant") || content === undefined)
      throw WorkflowError.of(
        "validation",
        `messages[${index}] must have content and the role user or assistant, so nothing was asked`,
      );
    if (role === "assistant" && files !== undefined)
      throw WorkflowError.of("validation", `messages[${index}] is the model's own and has files, so nothing was asked`);
    return {
      role,
      content: textOf(content, `messages[${index}].content`),
      ...filesOf(files, `messages[${index}].files`),
    };
  });
  checkCount(asked.reduce((sum, { files = [] }) => sum + files.length, 0));
  return asked;
}

/** One URL or a list of them. Throws `validation`. */
function filesOf(given: Json | undefined, place: string): { files?: string[] } {
  if (given === undefined) return {};
  const urls = typeof given === "string" ? [given] : given;
  if (!Array.isArray(urls))
    throw WorkflowError.of("validation", `${place} must be a list of URLs, so nothing was asked`);
  checkCount(urls.length);
  for (const [index, url] of urls.entries()) {
    const problem = typeof url === "string" ? fileUrlProblem(url) : "must be text";
    if (problem) throw WorkflowError.of("validation", `${place}[${index}] ${problem}, so nothing was asked`);
  }
  return { files: urls as string[] };
}

function checkCount(files: number): void {
  if (files > LIMITS.modelFiles)
    throw WorkflowError.of("validation", `a model is shown at most ${LIMITS.modelFiles} files, so nothing was asked`);
}

/** Has the model read a sentence, and asks once more about what cannot be used of its answer. */
import type { FormField } from "../../definition/form/form.ts";
import { isObject } from "../../lib/json/json.ts";
import { objectIn } from "../../llm/answer.ts";
import type { Ask } from "../../llm/llm.ts";
import { LlmError } from "../../llm/problem.ts";
import { findingOf, questionOf, repairOf } from "./model-questions.ts";
import { readAnswer, saidIn, type Read, type Reading } from "./read-answer.ts";
import type { Sentence } from "../fields/sentence.ts";

/** Throws LlmError when nothing could be made of it. */
export async function askForFields(
  ask: Ask,
  name: string,
  fields: readonly FormField[],
  reading: Reading,
): Promise<Sentence> {
  const question = questionOf(name, fields, reading.text);
  if (!question) throw new LlmError("too_large", "the form is too large for the model");
  const answer = await ask(question);
  const first = readAnswer(answer, reading);
  if (first?.problems.length === 0) return first.sentence;
  const problems = first?.problems ?? ["It is not the JSON object that was asked for."];
  const second = await repaired(ask, repairOf(question, answer, problems), reading, first);
  const better = [first, second].filter((read) => read !== undefined);
  const [best] = better.toSorted((a, b) => a.problems.length - b.problems.length);
  if (!best) throw new LlmError("unusable", "the model's answer was not what it was asked for");
  return best.sentence;
}

/** Where there is something already, its failure is no loss. */
async function repaired(
  ask: Ask,
  question: ReturnType<typeof repairOf>,
  reading: Reading,
  first: Read | undefined,
): Promise<Read | undefined> {
  try {
    return readAnswer(await ask(question), reading);
  } catch (error) {
    if (first && error instanceof LlmError) return undefined;
    throw error;
  }
}

/** Undefined: none, several, or one that the sentence does not speak of. */
export async function askForAgent<Agent extends { name: string }>(
  ask: Ask,
  agents: readonly Agent[],
  text: string,
): Promise<{ agent: Agent; source: string } | undefined> {
  if (agents.length === 0) return undefined;
  const answer = objectIn(await ask(findingOf(agents, text)));
  if (!answer || !Object.hasOwn(answer, "agent"))
    throw new LlmError("unusable", "the model's answer was not what it was asked for");
  const found = answer["agent"];
  if (!isObject(found) || typeof found["number"] !== "number" || typeof found["words"] !== "string") return undefined;
  const [agent, source] = [agents[found["number"] - 1], saidIn(text, found["words"])];
  return agent && source !== undefined ? { agent, source } : undefined;
}

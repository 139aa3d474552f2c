/** Asks a person before a tool is called, where the author wants that. */
import { isDeepStrictEqual } from "node:util";
import { isForm } from "../../definition/profile/profile.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { askPerson, type Decision } from "../ask-person.ts";
import { evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import { changedArguments, type ToolCall } from "../run/tool-call.ts";
import type { OwnStep } from "../steps.ts";
import { truthy } from "../variables.ts";
import { withArguments } from "./call-tool.ts";
import type { Wish } from "./conversation.ts";
import type { OfferedTool } from "./offered-tools.ts";

/**
 * The call as it may be made, or what the model reads instead. `waitedMs`: how long a person took. `note`: what the model reads
 * before the call's answer.
 */
export type Approved = { waitedMs: number } & ({ arguments: JsonObject; note?: string } | { refusal: string });

/** `key`: of the question's step. */
type Asking = { isAsked: boolean; key: string; own: OwnStep };

/** The question is a step of its own before that of the call: a call that a person rejects has no step, so it never begins. */
export async function approvedCall(
  frame: Frame,
  tool: OfferedTool,
  call: Wish,
  { isAsked, key, own }: Asking,
): Promise<Approved> {
  const given = call.arguments as JsonObject;
  const { approval } = tool.written;
  if (approval === undefined) return { arguments: given, waitedMs: 0 };
  // An expression may look at the clock: a question that was asked once stays.
  const { execution, input, variables } = withArguments(frame, given);
  const { when, asked } = approval;
  if (!isAsked && when !== "always") {
    if (!truthy(await evaluate(execution, when, input, variables))) return { arguments: given, waitedMs: 0 };
  }
  const outcome = await own({ name: tool.name, kind: "approval", key }, (inner) =>
    askPerson(
      inner,
      async () => ({
        ...(asked && ((await evaluate(execution, asked, input, variables)) as JsonObject)),
        question: `May ${tool.name} be called?`,
        context: { tool: tool.name, arguments: given },
      }),
      toolCallOf(tool, given),
    ),
  );
  if (outcome.error) throw outcome.error;
  const { approved, comment, answer } = outcome.output as unknown as Decision;
  const waitedMs = outcome.step.finishedAt! - outcome.step.startedAt;
  if (!approved) return { refusal: `A person refused this call${comment === null ? "." : `: ${comment}`}`, waitedMs };
  const changed = changedArguments(answer);
  if (changed === undefined || isDeepStrictEqual(changed, given)) return { arguments: given, waitedMs };
  const note = `A person changed the arguments to ${JSON.stringify(changed)}. The answer is:\n`;
  return { arguments: changed, note, waitedMs };
}

function toolCallOf({ name, parameters, check }: OfferedTool, given: JsonObject): ToolCall {
  const fits = isForm(parameters);
  return { name, arguments: given, parameters, isChecked: check !== undefined || fits, isForm: fits };
}

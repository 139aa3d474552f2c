/** The beginning of an assistant. */
import type { BodyOf } from "../../definition/program.ts";
import type { AssistantLimits } from "../../definition/tasks/assistant.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { messagesIn, textOf } from "../calls/model/messages.ts";
import { chosenModel, type AskModels } from "../calls/model/models.ts";
import { evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import type { Asked } from "./ask-model.ts";
import { agentForms } from "./offered-tools.ts";

/** Settles once, in the step's row, what the model is asked and which forms agents have as its tools. */
export async function settle(models: AskModels, frame: Frame, body: BodyOf<"assistant">): Promise<void> {
  const { execution, input, step, variables } = frame;
  const values = (await evaluate(execution, body.arguments, input, variables, step)) as JsonObject;
  const { prompt: _, messages: __, files: ___, model, instructions, ...rest } = values;
  const chosen = await chosenModel(models, frame, { connection: body.connection, model });
  const forms = await agentForms(frame, body);
  const asked: Asked = {
    ...rest,
    ...chosen,
    ...(instructions !== undefined && { instructions: textOf(instructions, "instructions") }),
    messages: messagesIn(values),
    ...(body.answer && { schema: body.answer.schema }),
    limits: withoutGaps(body.limits),
  };
  const room = execution.holdRow(step, [asked, forms]);
  if (room) await room;
  step.input = asked;
  step.state.assistant = { forms };
  execution.journal.touch(step);
}

const withoutGaps = (limits: AssistantLimits): JsonObject =>
  Object.fromEntries(Object.entries(limits).flatMap(([name, limit]) => (limit === undefined ? [] : [[name, limit]])));

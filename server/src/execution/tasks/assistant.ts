/** `call: assistant`: a language model that calls tools until it has an answer. */
import { Assistant, type AssistantReach } from "../assistant/assistant.ts";
import { settle } from "../assistant/settle.ts";
import type { BodyOf } from "../../definition/program.ts";
import { complete, type RunTask } from "../frame.ts";

export const createRunAssistant =
  (reach: AssistantReach): RunTask<BodyOf<"assistant">> =>
  async (frame, body) => {
    if (frame.step.input === undefined) await settle(reach.models, frame, body);
    return complete(frame, await new Assistant(reach, frame, body).answer());
  };

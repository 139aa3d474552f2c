/** `call: http` (DSL reference "HTTP Call"): one request behind the outbound guard. */
import type { BodyOf } from "../../definition/program.ts";
import { LIMITS } from "../../lib/limits.ts";
import { attemptRequest, preparedRequest, TIMEOUT_MS, type HttpCall } from "../calls/http-call.ts";
import { performEffect } from "../effect.ts";
import { complete, type RunTask } from "../frame.ts";

const LONGEST_MS = LIMITS.callSeconds * 1_000;

export const createRunHttp =
  (call: HttpCall): RunTask<BodyOf<"http">> =>
  async (frame, body) => {
    const place = `${frame.task.reference}/with`;
    const timeoutMs = frame.task.timeout ? LONGEST_MS : TIMEOUT_MS;
    const output = await performEffect(frame, {
      prepare: () => preparedRequest(frame, body, place),
      perform: (kept, context) => attemptRequest(call, frame, { body, place }, kept, { ...context, timeoutMs }),
    });
    return complete(frame, output);
  };

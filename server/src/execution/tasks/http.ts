/** `call: http` (DSL reference "HTTP Call"): one request behind the outbound guard. */
import type { BodyOf } from "../../definition/program.ts";
import type { Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { authenticationOf, type Authentication } from "../calls/authentication.ts";
import { preparedRequest, TIMEOUT_MS, type HttpCall } from "../calls/http-call.ts";
import { performEffect } from "../effect.ts";
import { complete, type RunTask } from "../frame.ts";

const LONGEST_MS = LIMITS.callSeconds * 1_000;

export const createRunHttp =
  (call: HttpCall): RunTask<BodyOf<"http">> =>
  async (frame, body) => {
    const output = await performEffect(frame, {
      prepare: () => preparedRequest(call, frame, body, `${frame.task.reference}/with`),
      perform(request, context) {
        const authentication = authenticationOf(frame, body.authentication, call.readSecrets);
        const timeoutMs = frame.task.timeout ? LONGEST_MS : TIMEOUT_MS;
        const perform = (found: Authentication): Promise<Json> =>
          call.perform(request, { ...context, authentication: found, timeoutMs });
        return authentication instanceof Promise ? authentication.then(perform) : perform(authentication);
      },
    });
    return complete(frame, output);
  };

/** `call: openapi` (DSL reference "OpenAPI Call"): one request to an operation that an OpenAPI document describes. */
import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { ApiOperation } from "../../definition/openapi/operation.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { authenticationOf } from "../calls/authentication.ts";
import { preparedRequest, TIMEOUT_MS, type HttpCall } from "../calls/http-call.ts";
import { buildRequest } from "../calls/openapi/build-request.ts";
import { operationInline, parametersIn, type FindOperation } from "../calls/openapi/find-operation.ts";
import { performEffect } from "../effect.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";

const LONGEST_MS = LIMITS.callSeconds * 1_000;

export const createRunOpenapi =
  (call: HttpCall, find: FindOperation): RunTask<BodyOf<"openapi">> =>
  async (frame, body) => {
    const { execution, input, variables, step, task } = frame;
    const place = `${task.reference}/with`;
    const output = await performEffect(frame, {
      async prepare() {
        const values = (await evaluate(execution, body.arguments, input, variables, step)) as JsonObject;
        const { operationId, parameters: _, ...rest } = values;
        if (typeof operationId !== "string" || operationId === "")
          throw WorkflowError.of("expression", `${place}/operationId is not a text, so nothing was sent`);
        const operation = await operationOf(call, find, frame, body, operationId);
        const request = buildRequest(operation, parametersIn(values, `${place}/parameters`), `${place}/parameters`);
        return { operationId, ...request, ...rest };
      },
      async perform(request, context) {
        const authentication = await authenticationOf(frame, body.authentication, call.readSecrets);
        const timeoutMs = task.timeout ? LONGEST_MS : TIMEOUT_MS;
        return call.perform(request, { ...context, authentication, filled: undefined, timeoutMs });
      },
    });
    return complete(frame, output);
  };

async function operationOf(
  call: HttpCall,
  find: FindOperation,
  frame: Frame,
  { document, inline }: BodyOf<"openapi">,
  operationId: string,
): Promise<ApiOperation> {
  const place = `${frame.task.reference}/with/document`;
  if (!document) return operationInline(inline!, operationId, `${place}/inline`);
  const { endpoint } = await preparedRequest(frame, document, place);
  return find(frame, { document: endpoint as string, operationId }, () =>
    authenticationOf(frame, document.authentication, call.readSecrets),
  );
}

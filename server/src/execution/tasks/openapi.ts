/** `call: openapi` (DSL reference "OpenAPI Call"): one request to an operation that an OpenAPI document describes. */
import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { ApiOperation } from "../../definition/openapi/operation.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { authenticationOf } from "../calls/authentication.ts";
import { preparedRequest, TIMEOUT_MS, type HttpCall } from "../calls/http-call.ts";
import { withFilledRequest, type FilledRequest } from "../calls/fill-request.ts";
import { buildRequest } from "../calls/openapi/build-request.ts";
import { keptOperation, withFilledOperation } from "../calls/openapi/fill-operation.ts";
import { operationInline, parametersIn, type FindOperation } from "../calls/openapi/find-operation.ts";
import { shownArguments } from "../calls/secret-arguments.ts";
import { performEffect } from "../effect.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";

const LONGEST_MS = LIMITS.callSeconds * 1_000;

export const createRunOpenapi =
  (call: HttpCall, find: FindOperation): RunTask<BodyOf<"openapi">> =>
  async (frame, body) => {
    const { task } = frame;
    const { secretive } = body;
    const place = `${task.reference}/with`;
    const output = await performEffect(frame, {
      async prepare() {
        const values = (await shownArguments(frame, body)) as JsonObject;
        const { operationId, parameters: _, ...rest } = values;
        if (typeof operationId !== "string" || operationId === "")
          throw WorkflowError.of("expression", `${place}/operationId is not a text, so nothing was sent`);
        const document = await addressOf(frame, body);
        const operation = await operationOf(call, find, { frame, body, document, operationId });
        if (secretive) return keptOperation(operation, secretive, { ...(document && { document }), ...values }, place);
        const request = buildRequest(operation, parametersIn(values, `${place}/parameters`), `${place}/parameters`);
        return { operationId, ...request, ...rest };
      },
      async perform(kept, context) {
        const authentication = await authenticationOf(frame, body.authentication, call.readSecrets);
        const timeoutMs = task.timeout ? LONGEST_MS : TIMEOUT_MS;
        const perform = (filled: FilledRequest | undefined): Promise<Json> =>
          call.perform(kept, { ...context, authentication, filled, timeoutMs });
        if (!secretive) return perform(undefined);
        const { operationId, document } = kept as { operationId: string; document?: string };
        const operation = await operationOf(call, find, { frame, body, document, operationId });
        const filling = { place, secrets: authentication.secrets, signal: context.signal, kept };
        return withFilledOperation(frame, secretive, operation, filling, perform);
      },
    });
    return complete(frame, output);
  };

/** The document's address as it is shown. Undefined: the definition has the document. */
async function addressOf(frame: Frame, { document }: BodyOf<"openapi">): Promise<string | undefined> {
  if (!document) return undefined;
  const { endpoint } = await preparedRequest(frame, document, placeOfDocument(frame));
  return endpoint as string;
}

const placeOfDocument = ({ task }: Frame): string => `${task.reference}/with/document`;

type Wanted = { frame: Frame; body: BodyOf<"openapi">; document: string | undefined; operationId: string };

async function operationOf(
  call: HttpCall,
  find: FindOperation,
  { frame, body, document: endpoint, operationId }: Wanted,
): Promise<ApiOperation> {
  const place = placeOfDocument(frame);
  if (endpoint === undefined) return operationInline(body.inline!, operationId, `${place}/inline`);
  const written = body.document!;
  return find(frame, { document: endpoint, operationId }, async (signal, work) => {
    const authentication = await authenticationOf(frame, written.authentication, call.readSecrets);
    const { secrets } = authentication;
    const filling = { place, secrets, signal, kept: { endpoint }, defaults: { method: "GET" } };
    return withFilledRequest(frame, written, filling, (filled) => work({ authentication, filled }));
  });
}

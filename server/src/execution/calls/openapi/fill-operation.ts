/** The request of an operation whose parameters name secrets: as it is kept and shown, and as it is sent by one attempt. */
import { assign } from "../../../definition/openapi/assign.ts";
import type { ApiOperation } from "../../../definition/openapi/operation.ts";
import { valueAt, type Path } from "../../../definition/text/problem.ts";
import type { SecretArguments } from "../../../expressions/secret-arguments.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import type { Confidential } from "../../../outbound/outbound.ts";
import type { SecretValues } from "../../../secrets/secret.ts";
import type { Frame } from "../../frame.ts";
import { partsIn, type FilledRequest } from "../fill-request.ts";
import { withFilled, withoutReason } from "../secret-arguments.ts";
import { buildRequest, type IsSecret } from "./build-request.ts";
import { parametersIn } from "./find-operation.ts";

/**
 * The request with `[secret NAME]` in the place of each secret. All that is wrong whatever the secrets are is refused here. `values`: the
 * call's arguments as they are shown; `place`: the JSON pointer to them. Throws WorkflowError.
 */
export function keptOperation(
  operation: ApiOperation,
  secretive: SecretArguments,
  values: JsonObject,
  place: string,
): JsonObject {
  const { operationId, parameters, ...rest } = values;
  const at = `${place}/parameters`;
  const shown = secretive.alters(["parameters"])
    ? { method: operation.method, endpoint: operation.server.url + operation.path }
    : shownRequest(operation, secretive, parametersIn(values, at), at);
  return { operationId: operationId!, parameters: parameters!, ...shown, ...rest };
}

function shownRequest(
  operation: ApiOperation,
  secretive: SecretArguments,
  parameters: JsonObject,
  place: string,
): JsonObject {
  const request = buildRequest(operation, parameters, place, isSecretOf(secretive));
  const endpoint = request["endpoint"] as string;
  return { ...request, endpoint: endpoint.replaceAll(/%5Bsecret%20([\w.-]+)%5D/g, "[secret $1]") };
}

/** If one expression yields all parameters, any of them may have the secret. */
const isSecretOf = (secretive: SecretArguments): IsSecret =>
  secretive.isOne(["parameters"]) ? () => true : (name) => secretive.names(["parameters", name]);

type Filling = { place: string; secrets: SecretValues; signal: AbortSignal; kept: JsonObject };

/** Calls `work` with the request that is sent. `kept`: made by `keptOperation`. Rejects with WorkflowError. */
export function withFilledOperation<Result>(
  frame: Frame,
  secretive: SecretArguments,
  operation: ApiOperation,
  { kept, place, ...filling }: Filling,
  work: (filled: FilledRequest) => Promise<Result>,
): Promise<Result> {
  const keptAt = (path: Path): Json => valueAt(kept, path)!;
  return withFilled(frame, secretive, { ...filling, place, kept: keptAt }, ({ values, made }) => {
    const { operationId: _, parameters: __, ...rest } = values as JsonObject;
    const { request, parameters } = withoutReason(place, () => {
      const at = `${place}/parameters`;
      const given = parametersIn(values as JsonObject, at);
      return { request: { ...buildRequest(operation, given, at), ...rest }, parameters: given };
    });
    const { confidential, hasHost } = confidentialIn(operation, parameters, isSecretOf(secretive));
    const parts = hasHost ? partsIn(request["endpoint"] as string, filling.secrets) : [];
    return work({ request, made: [...made, ...parts], confidential, place });
  });
}

/** `hasHost`: a secret may be in the host. */
function confidentialIn(
  operation: ApiOperation,
  parameters: JsonObject,
  isSecret: IsSecret,
): { confidential: Confidential; hasHost: boolean } {
  const targets = [...assign(operation, parameters).targets].flatMap(([name, target]) =>
    isSecret(name) ? target : [],
  );
  const places = targets.flatMap((target) => (target.is === "parameter" ? target.parameter : []));
  const hasHost = targets.some((target) => target.is === "variable");
  return {
    hasHost,
    confidential: {
      url: hasHost || places.some((one) => one.in === "path" || one.in === "query"),
      headers: new Set(
        places.flatMap((one) => (one.in === "header" ? one.name.toLowerCase() : one.in === "cookie" ? "cookie" : [])),
      ),
      body: targets.some((target) => target.is === "body" || target.is === "field"),
    },
  };
}

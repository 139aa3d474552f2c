/** Authenticates a call: its policy is evaluated again for each attempt, with the secrets that it names, and never kept. */
import { ExpressionError } from "../../expressions/parsing/expression-error.ts";
import { pointer, quote, type Path } from "../../definition/text/problem.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { Secretive } from "../../definition/tasks/http.ts";
import type { OrganizationId, ProjectId } from "../../lib/ids.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { SecretValues } from "../../secrets/secret.ts";
import { LIMITS } from "../../lib/limits.ts";
import { evaluate } from "../evaluate.ts";
import type { MakeVariables } from "../variables.ts";
import type { Frame } from "../frame.ts";
import { objectIn } from "../../secrets/secret-fields.ts";
import { unusable } from "./authorize.ts";

export type Authentication = {
  /** One scheme with its fields: `{basic: {username, password}}`. */
  policy: JsonObject | undefined;
  /** All that the definition names, whether this call uses them or not: any of its servers may repeat them. */
  secrets: SecretValues;
};

export type ReadSecrets = (
  organizationId: OrganizationId,
  projectId: ProjectId,
  names: readonly string[],
) => Promise<SecretValues>;

type Written = Secretive | undefined;

const NO_SECRETS: SecretValues = new Map();
const NONE: Authentication = { policy: undefined, secrets: NO_SECRETS };

/** Throws an `authentication` error that names the secret that is missing, and an `expression` error. */
export function authenticationOf(
  frame: Frame,
  written: Written,
  readSecrets: ReadSecrets,
): Authentication | Promise<Authentication> {
  const isNone = !written && frame.execution.program.secrets.length === 0;
  return isNone ? NONE : evaluatedOf(frame, written, readSecrets);
}

async function evaluatedOf(frame: Frame, written: Written, readSecrets: ReadSecrets): Promise<Authentication> {
  const { program, journal } = frame.execution;
  const { organizationId, projectId } = journal.head;
  const secrets =
    program.secrets.length === 0 ? NO_SECRETS : await readSecrets(organizationId, projectId, program.secrets);
  return { policy: written && (await policyOf(frame, written, secrets)), secrets };
}

async function policyOf(frame: Frame, written: Secretive, secrets: SecretValues): Promise<JsonObject> {
  const policy = (await evaluateWithSecrets(frame, written, secrets)) as JsonObject;
  const [[scheme, fields]] = Object.entries(policy) as [[string, Json]];
  checkSize(fields, [scheme]);
  const name = isObject(fields) ? fields["use"] : undefined;
  return typeof name === "string" ? { [scheme]: fieldsOf(scheme, name, valueOf(secrets, name)) } : policy;
}

/** How a sentence about a call that failed early ends. */
export const NOTHING_SENT = "so nothing was sent";

/** Throws an `authentication` error that names the secret that is missing, and an `expression` error. */
export async function evaluateWithSecrets(
  { execution, input, variables }: Frame,
  { template, place }: Secretive,
  secrets: SecretValues,
  so = NOTHING_SENT,
): Promise<Json> {
  for (const name of template.secrets) valueOf(secrets, name, so);
  if (template.secrets.length === 0) return evaluate(execution, template, input, variables);
  const withSecrets: MakeVariables = (used) => ({ ...variables(used), secrets: Object.fromEntries(secrets) });
  try {
    return await evaluate(execution, template, input, withSecrets);
  } catch (error) {
    if (!(error instanceof ExpressionError || error instanceof WorkflowError)) throw error;
    const text = error instanceof ExpressionError ? error.expression : undefined;
    const path = template.expressions.find((one) => one.text === text)?.path ?? [];
    // jq's sentence may repeat the value, or the beginning of it.
    const message = `an expression in ${place}${pointer(path)} failed, ${so}; why is not shown, because it may contain a secret`;
    throw WorkflowError.of("expression", message);
  }
}

/** Refuses a credential that an expression made larger than a secret may be: every answer is searched for it. */
function checkSize(value: Json, path: Path): void {
  if (typeof value === "string") {
    if (value.length > LIMITS.secretBytes || Buffer.byteLength(value) > LIMITS.secretBytes)
      throw unusable(`${path.join(".")} has more than ${LIMITS.secretBytes} bytes`);
  } else if (!isScalar(value)) {
    for (const [key, child] of Object.entries(value)) checkSize(child, [...path, key]);
  }
}

function valueOf(secrets: SecretValues, name: string, so = NOTHING_SENT): string {
  const value = secrets.get(name);
  if (value !== undefined) return value;
  const message = `the secret ${quote(name)} is not set in the project of the agent, ${so}`;
  throw WorkflowError.of("authentication", message);
}

/** For `use`: the value is a JSON object with the scheme's fields; for bearer it may be the token itself. */
function fieldsOf(scheme: string, name: string, value: string): JsonObject {
  const fields = objectIn(value);
  if (fields) return fields;
  if (scheme === "bearer") return { token: value };
  const message = `the secret ${quote(name)} is not a JSON object with the fields of ${scheme}, so nothing was sent`;
  throw WorkflowError.of("authentication", message);
}

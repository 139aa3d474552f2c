import { record } from "../audit/record.ts";
import { refuseProblems } from "../auth/names.ts";
import { actorOf, whoOf, type Acting } from "../auth/caller.ts";
import { fieldsIn } from "./secret-fields.ts";
import { conflict, notFound, type FieldProblem } from "../lib/errors.ts";
import { encodeId, newId, type ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { isStorable } from "../lib/text.ts";
import { isSecretName } from "../lib/secret-name.ts";
import { presentKeyId } from "./present-key.ts";
import type { Secret } from "./secret.ts";
import { forgetValues } from "./read-values.ts";
import type { Secrets } from "./secrets.ts";
import { countOthers, lockProject, upsertSecret } from "./store.ts";

type SetSecretRequest = { projectId: ProjectId; name: string; value: string };

/**
 * Makes a secret, or gives an existing one another value: calls that begin from then on use it, in other processes within
 * seconds. Throws BAD_USER_INPUT, NOT_FOUND for the project, or CONFLICT when it has `LIMITS.secretsPerProject`.
 */
export async function setSecret(secrets: Secrets, caller: Acting, request: SetSecretRequest): Promise<Secret> {
  const { projectId, name, value } = request;
  const { organizationId } = caller;
  refuseProblems([nameProblem(name), valueProblem(value)]);
  const secret = await secrets.database.transaction(async (query) => {
    if (!(await lockProject(query, organizationId, projectId))) throw notFound("Project");
    if ((await countOthers(query, organizationId, projectId, name)) >= LIMITS.secretsPerProject)
      throw conflict("limit_reached", `a project has at most ${LIMITS.secretsPerProject} secrets: delete one first`);
    const keyId = await presentKeyId(query);
    const sealed = await secrets.sealer.seal(value, { organizationId, projectId, name }, keyId);
    const by = actorOf(caller);
    const now = secrets.clock.now();
    const made = await upsertSecret(query, { id: newId(), organizationId, projectId, name, sealed, by, now });
    await record(query, whoOf(caller), now, {
      action: "secret_set",
      subject: { kind: "secret", id: made.id, name },
      detail: { projectId: encodeId("project", projectId) },
    });
    return made;
  }, organizationId);
  forgetValues(secrets, secret);
  return secret;
}

function nameProblem(name: string): FieldProblem | undefined {
  if (isSecretName(name)) return undefined;
  const message = `must be 1 to ${LIMITS.identifierCharacters} letters, digits, dots, hyphens and underscores, and begin with a letter or underscore`;
  return { path: "input.name", code: "invalid", message };
}

/** The value is in no message. */
function valueProblem(value: string): FieldProblem | undefined {
  const path = "input.value";
  if (value === "") return { path, code: "required", message: "must not be empty" };
  if (Buffer.byteLength(value) > LIMITS.secretBytes)
    return { path, code: "too_large", message: `must have at most ${LIMITS.secretBytes} bytes as UTF-8` };
  if (fieldsIn(value).length > LIMITS.secretTexts)
    return { path, code: "too_many", message: `must have at most ${LIMITS.secretTexts} texts, if it is a JSON object` };
  if (!isStorable(value))
    return { path, code: "invalid", message: "must be text: a NUL or half of a surrogate pair can't be sent anywhere" };
  return undefined;
}

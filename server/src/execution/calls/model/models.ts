/** The model connection that a task asks over, and the model that it asks for. */
import { quote } from "../../../definition/text/problem.ts";
import { WorkflowError } from "../../../definition/workflow-error.ts";
import type { Slots } from "../../../fairness/slots.ts";
import type { OrganizationId, ProjectId } from "../../../lib/ids.ts";
import type { Json } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { isStorable } from "../../../lib/text.ts";
import type { Connection } from "../../../llm/connection.ts";
import type { Llm } from "../../../llm/llm.ts";
import type { Frame } from "../../frame.ts";
import type { ReadSecrets } from "../authentication.ts";
import type { ModelFiles } from "./files.ts";
import { textOf } from "./messages.ts";

export type AskModels = Pick<Llm, "call" | "isOperator"> & {
  files: ModelFiles;
  /** The connection of this name; without one, the project's default, else the server's own. */
  connectionOf(
    organizationId: OrganizationId,
    projectId: ProjectId,
    name: string | undefined,
  ): Promise<Connection | undefined>;
  readSecrets: ReadSecrets;
  concealing: Slots;
};

/** Throws `configuration`. */
export async function connectionOf(
  models: AskModels,
  { execution }: Frame,
  name: string | undefined,
): Promise<Connection> {
  const { organizationId, projectId } = execution.journal.head;
  const found = await models.connectionOf(organizationId, projectId, name);
  if (found) return found;
  throw WorkflowError.of(
    "configuration",
    name === undefined ? NO_MODEL : `the project has no model connection ${quote(name)}`,
  );
}

const NO_MODEL =
  "the project has no default model connection, and the server has no model of its own: add a connection under " +
  "Settings → Models, or have the operator set LLM_BASE_URL and LLM_MODEL";

/** Only the operator's own organization sees and chooses what the server's model is. */
const NOT_CHOSEN = "`model` can't be chosen on the server's own connection: name a connection of the project";

/** As the step keeps and shows them. Throws `configuration` and `validation`. */
export async function chosenModel(
  models: AskModels,
  frame: Frame,
  { connection: name, model: given }: { connection: string | undefined; model: Json | undefined },
): Promise<{ connection: string; model?: string }> {
  const connection = await connectionOf(models, frame, name);
  const isForeign =
    connection.id === undefined && !(await models.isOperator(frame.execution.journal.head.organizationId));
  if (isForeign && given !== undefined) throw WorkflowError.of("configuration", NOT_CHOSEN);
  return { connection: connection.name, ...(!isForeign && { model: modelOf(given, connection) }) };
}

/** Throws `validation`. */
function modelOf(given: Json | undefined, { model }: Connection): string {
  if (given === undefined) return model;
  const name = textOf(given, "model");
  if (name.length <= LIMITS.nameCharacters && isStorable(name)) return name;
  throw WorkflowError.of(
    "validation",
    `model must be a name of at most ${LIMITS.nameCharacters} characters, so nothing was asked`,
  );
}

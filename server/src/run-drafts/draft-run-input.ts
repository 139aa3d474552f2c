/** Turns a sentence into a run draft: a run's input for a person to review. Never starts a run. */
import type { Agent } from "../agents/agent.ts";
import type { Agents } from "../agents/agents.ts";
import { listActiveNames, type AgentName } from "../agents/store.ts";
import { published, readAgent, type Published } from "../agents/published.ts";
import type { Caller } from "../auth/caller.ts";
import { compileField } from "../definition/form/field-check.ts";
import { inputFields, propertiesOf } from "../definition/form/form.ts";
import { badInput, conflict, notFound, type FieldProblem } from "../lib/errors.ts";
import { newIdAt, type AgentId, type RunDraftId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { inSlices } from "../fairness/slices.ts";
import { isStorable, UNSTORABLE } from "../lib/text.ts";
import type { Connection } from "../llm/connection.ts";
import { askWith, type Ask } from "../llm/llm.ts";
import { LlmError, type LlmProblem } from "../llm/problem.ts";
import { findConnection } from "../models/find-connection.ts";
import { zoneNamed, zoneProblem } from "../lib/zone.ts";
import { askForAgent, askForFields } from "./model/ask-model.ts";
import { dayAt } from "./dates/days.ts";
import { keepRunDraft, type RunDrafts } from "./run-draft-store.ts";
import { findAgent, isWhollyNamed, wordsFor } from "./find-agent.ts";
import { explainedBy, readSentence, whatWasRead, type ReadSentence } from "./fields/read-sentence.ts";

type DraftRequest = { agentId?: AgentId; text: string; timezone: string };

export type RunDraft = ReadSentence & {
  id: RunDraftId;
  /** Null if the caller named none and the sentence names none, or several. */
  agent: Agent | null;
  /** The words that name it; null if the caller named it. */
  agentSource: string | null;
  text: string;
  expiresAt: Date;
  reader: Reader;
  /** Why the configured model did not read it; otherwise null. */
  modelProblem: LlmProblem | null;
};

export const READERS = ["rules", "model"] as const;
export type Reader = (typeof READERS)[number];

/**
 * Without `agentId` the agent is found among the active ones that the caller reaches. Throws BAD_USER_INPUT (text, zone), NOT_FOUND
 * (the agent) or CONFLICT (it has no published version).
 */
export async function draftRunInput(
  room: RunDrafts,
  caller: Caller,
  { agentId, text, timezone }: DraftRequest,
  signal: AbortSignal,
): Promise<RunDraft> {
  const zone = zoneNamed(timezone);
  const problems: FieldProblem[] = [...textProblems(text)];
  if (!zone) problems.push({ path: "input.timezone", code: "invalid", message: zoneProblem(timezone) });
  if (!zone || problems.length > 0) {
    const sentence = problems.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw badInput("invalid_input", sentence, problems);
  }
  const now = room.clock.now();
  const today = dayAt(now, zone.offsetAt(now));
  const named = agentId === undefined ? undefined : await requireVersion(room.agents, caller, agentId);
  const { version, ...read } = await readBy(room, caller, named, { text, today, signal });
  const draft = {
    id: newIdAt<"runDraft">(now),
    agent: version?.agent ?? null,
    text,
    expiresAt: new Date(now + LIMITS.runDraftHours * 3_600_000),
  };
  await keepRunDraft(room, caller.organizationId, draft);
  return { ...draft, ...read };
}

function textProblems(text: string): FieldProblem[] {
  const problem = (code: FieldProblem["code"], message: string): FieldProblem[] => [
    { path: "input.text", code, message },
  ];
  if (text.length > LIMITS.runDraftCharacters)
    return problem("too_long", `must have at most ${LIMITS.runDraftCharacters} characters`);
  if (text.trim() === "") return problem("required", "must not be empty");
  return isStorable(text) ? [] : problem("invalid", UNSTORABLE);
}

async function requireVersion(agents: Agents, caller: Caller, id: AgentId): Promise<Published> {
  const agent = await readAgent(agents, caller, id);
  if (!agent) throw notFound("Agent");
  const version = await published(agents, caller, id);
  if (!version) throw conflict("wrong_state", "the agent has no published version");
  return version;
}

type Asked = { text: string; today: number; signal: AbortSignal };
type ReadBy = ReadSentence &
  Pick<RunDraft, "agentSource" | "reader" | "modelProblem"> & { version: Published | undefined };

/** Reads with the model if one is configured; by rules if not, or if it fails. */
async function readBy(room: RunDrafts, caller: Caller, named: Published | undefined, asked: Asked): Promise<ReadBy> {
  const { active, found } = named ? { active: [], found: undefined } : await findByName(room.agents, caller, asked);
  const publishedOf = (agent: AgentName | undefined): Promise<Published | undefined> =>
    agent ? published(room.agents, caller, agent.id) : Promise.resolve(undefined);
  let version = named ?? sureOf(await publishedOf(found), asked);
  let agentSource = version && !named ? wordsFor(version.agent, asked.text) : null;
  const { llm, log } = room;
  const { organizationId } = caller;
  const { signal } = asked;
  const connection = await connectionFor(room, caller, version);
  try {
    if (connection)
      return await llm.use(
        connection,
        { organizationId, signal, agent: version?.agent },
        async (call): Promise<ReadBy> => {
          const ask = askWith(call);
          if (!version) {
            const found = await askForAgent(ask, active, asked.text);
            version = await publishedOf(found?.agent);
            agentSource = version && found ? found.source : null;
          }
          const read = version ? await readByModel(ask, version, asked) : nothingOf(asked.text);
          return { ...read, version, agentSource, reader: "model", modelProblem: null };
        },
      );
    return { ...readByRules(version, asked), version, agentSource, reader: "rules", modelProblem: null };
  } catch (error) {
    if (!(error instanceof LlmError)) throw error;
    log.info({ problem: error.problem, reason: error.message }, "a sentence was read without the model");
    return { ...readByRules(version, asked), version, agentSource, reader: "rules", modelProblem: error.problem };
  }
}

/** The default of the agent's project; before there is an agent, and where there is no default, the operator's own. */
async function connectionFor(
  { models, llm }: RunDrafts,
  { organizationId }: Caller,
  version: Published | undefined,
): Promise<Connection | undefined> {
  const projectId = version?.agent.projectId;
  return (projectId && (await findConnection(models, { organizationId, projectId }))) || llm.own;
}

/** If the sentence has only a part of the agent's name, it must also have something that the agent needs. */
function sureOf(version: Published | undefined, asked: Asked): Published | undefined {
  if (!version || isWhollyNamed(version.agent, asked.text)) return version;
  const { input } = readByRules(version, asked);
  const fields = inputFields(version.inputSchema);
  const needed = fields.some(({ required }) => required) ? fields.filter(({ required }) => required) : fields;
  return needed.some(({ name }) => Object.hasOwn(input, name)) ? version : undefined;
}

/** Takes some 100 ms among 10,000 agents, so organizations take turns, as for reading definitions. */
const findByName = (
  agents: Agents,
  caller: Caller,
  { text, signal }: Asked,
): Promise<{ active: AgentName[]; found: AgentName | undefined }> =>
  agents.reading.run(
    caller.organizationId,
    async () => {
      const active = await listActiveNames(agents.database, caller, LIMITS.agentsPerOrganization);
      return { active, found: await inSlices(findAgent(active, text)) };
    },
    signal,
  );

async function readByModel(ask: Ask, version: Published, { text, today }: Asked): Promise<ReadSentence> {
  const { name } = version.agent;
  const [fields, misfit] = [inputFields(version.inputSchema), misfitIn(version)];
  if (fields.length === 0) return nothingOf(text);
  const sentence = await askForFields(ask, name, fields, { text, fields, today, misfit });
  return whatWasRead(sentence, fields, { explained: explainedBy(name, sentence), misfit });
}

function readByRules(version: Published | undefined, { text, today }: Asked): ReadSentence {
  if (!version) return nothingOf(text);
  const fields = inputFields(version.inputSchema);
  return readSentence({ name: version.agent.name, fields, text, today, misfit: misfitIn(version) });
}

function misfitIn({ inputSchema }: Published): (field: string, value: Json) => string | undefined {
  const properties = propertiesOf(inputSchema);
  return (field, value) => compileField(properties[field]!)(value)?.message;
}

const nothingOf = (text: string): ReadSentence => ({ input: {}, fields: [], missing: [], unread: [text] });

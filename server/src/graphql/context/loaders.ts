/**
 * Look-ups within one turn of the event loop become one statement, so a list of runs asks for its agents once. Nothing is kept
 * between turns, so each event of a subscription sees the present state.
 */
import { readDrafts } from "../../agents/drafts.ts";
import { readAgents } from "../../agents/list-agents.ts";
import { readSecretUsers, type SecretKey } from "../../agents/secret-users.ts";
import type { Compiled } from "../../agents/agent-cache.ts";
import type { Agent, AgentVersion } from "../../agents/agent.ts";
import type { Draft } from "../../agents/draft-store.ts";
import { nameOfVersion, type VersionKey } from "../../agents/version-store.ts";
import { published } from "../../agents/published.ts";
import { readSources, readVersions } from "../../agents/versions.ts";
import type { ToolText } from "../../agents/tools/pinned-tool.ts";
import { readDescriptions, type ShownDescription } from "../../agents/tools/read-descriptions.ts";
import { requireCaller, type Caller } from "../../auth/caller.ts";
import { readProjects } from "../../projects/projects.ts";
import type { Project } from "../../projects/project.ts";
import { apiKeyNames } from "../../auth/api-keys/api-keys.ts";
import { memberEmails, userNames } from "../../auth/accounts/users.ts";
import { inputFields, type FormField } from "../../definition/form/form.ts";
import { sampleInput } from "../../definition/form/sample-input.ts";
import type { Ending } from "../../lib/ending.ts";
import type {
  AgentId,
  AgentVersionId,
  ApiKeyId,
  ApprovalId,
  EventId,
  FiringId,
  OrganizationId,
  ProjectId,
  RunId,
  StepId,
  TriggerId,
  UserId,
} from "../../lib/ids.ts";
import { pageOf, type Page } from "../../lib/page.ts";
import type { Within } from "../../lib/reach.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import type { Approval, Run, Step } from "../../execution/run/run.ts";
import { queryFor, readPeople, type Person } from "../../runs/read/who-decides.ts";
import { readRecipients } from "../../triggers/failures/failure-store.ts";
import { readDraftTexts } from "../../runs/run-draft-texts.ts";
import { newestRunsOfEach } from "../../runs/read/list-runs.ts";
import { listStepsOfRuns, readApprovals, type StepFilter, type StepPage } from "../../runs/read/read.ts";
import { readRunVersions } from "../../runs/read/read-run-versions.ts";
import { readBeginnings, readPayloads, type PayloadKey } from "../../runs/read/read-payloads.ts";
import { listWaits, type RunWait, type WaitsKey } from "../../runs/read/run-waits.ts";
import type { SpendDay, SpendKey } from "../../rates/read-spend.ts";
import { totalUsageOfSteps, usageOfSteps, type ModelUsage } from "../../runs/read/model-usage.ts";
import { readStepNames } from "../../runs/read/step-names.ts";
import { countChildren, countSteps, type StepCount } from "../../runs/read/step-counts.ts";
import {
  firingsOfRuns,
  newestFiringsOfEach,
  readFiringPayloads,
  readFiringRequests,
  readFiringRows,
} from "../../triggers/store/firing-store.ts";
import type { Event } from "../../events/event.ts";
import { explainEvents, type Explained } from "../../triggers/matching/explain-event.ts";
import { readEventData, readEventRows } from "../../events/read-events.ts";
import { readTriggerRows, triggerNames } from "../../triggers/store/trigger-store.ts";
import { readTokens, type PresentToken } from "../../triggers/webhooks/token-store.ts";
import type { Firing, Trigger } from "../../triggers/store/trigger.ts";
import type { AnswerSize } from "./answer-size.ts";
import type { Handles } from "./rooms.ts";
import { batched, keyed, orNull, type Loader } from "./batches.ts";

type StepsKey = { runId: RunId; page: StepPage; filter: StepFilter };
type Rooms = Pick<Handles, "agents" | "auth" | "rates" | "runs" | "triggers">;

/** Each is made when it is asked for: most requests need none. */
export class Loaders {
  readonly #rooms: Rooms;
  readonly #caller: Caller | undefined;
  readonly #size: AnswerSize;
  readonly #ending: Ending;
  #agent: Loader<AgentId, Agent> | undefined;
  /** By how many are asked for. */
  readonly #newestRuns = new Map<number, Loader<AgentId, Page<Run>>>();
  #secretUsers: Loader<SecretKey, Agent[]> | undefined;
  #failureMails: Loader<AgentId, string[] | null> | undefined;
  #draft: Loader<AgentId, Draft | null> | undefined;
  #version: Loader<VersionKey, AgentVersion | null> | undefined;
  #source: Loader<AgentVersionId, string | null> | undefined;
  #project: Loader<ProjectId, Project> | undefined;
  #userName: Loader<UserId, string> | undefined;
  #memberEmail: Loader<UserId, string | null> | undefined;
  #person: Loader<UserId, Person | null> | undefined;
  #keyName: Loader<ApiKeyId, string> | undefined;
  #versionOfRun: Loader<RunId, VersionKey | null> | undefined;
  #draftText: Loader<RunId, string | null> | undefined;
  #compiled: Loader<VersionKey, Compiled> | undefined;
  #approval: Loader<ApprovalId, Approval> | undefined;
  #steps: Loader<StepsKey, Page<Step>> | undefined;
  #stepCount: Loader<RunId, number> | undefined;
  #childCounts: Loader<StepId, StepCount[]> | undefined;
  #modelSpend: Loader<SpendKey, SpendDay[]> | undefined;
  #stepUsage: Loader<StepId, ModelUsage | null> | undefined;
  #totalStepUsage: Loader<StepId, ModelUsage | null> | undefined;
  #waits: Loader<WaitsKey, RunWait[]> | undefined;
  #payload: Loader<PayloadKey, JsonText> | undefined;
  #beginning: Loader<PayloadKey, string> | undefined;
  #stepName: Loader<StepId, string | null> | undefined;
  #toolDescription: Loader<ToolText, ShownDescription> | undefined;
  #form: Loader<VersionKey, FormField[]> | undefined;
  #trigger: Loader<TriggerId, Trigger | null> | undefined;
  #triggerName: Loader<TriggerId, string> | undefined;
  #sample: Loader<AgentId, JsonObject> | undefined;
  #token: Loader<TriggerId, PresentToken | null> | undefined;
  /** By whose they are, and how many are asked for. */
  readonly #newestFirings = new Map<string, Loader<TriggerId | EventId, Page<Firing>>>();
  #firing: Loader<FiringId, Firing | null> | undefined;
  #firingOfRun: Loader<RunId, Firing | null> | undefined;
  #event: Loader<EventId, Event | null> | undefined;
  #explained: Loader<Event, Explained> | undefined;
  #eventData: Loader<EventId, JsonText> | undefined;
  #firingPayload: Loader<FiringId, JsonText> | undefined;
  #firingRequest: Loader<FiringId, JsonText | null> | undefined;

  constructor(rooms: Rooms, caller: Caller | undefined, size: AnswerSize, ending: Ending) {
    this.#rooms = rooms;
    this.#caller = caller;
    this.#size = size;
    this.#ending = ending;
  }

  get #within(): Within {
    return requireCaller(this.#caller);
  }

  /** For what hangs on an object that was read within the caller's reach. */
  get #organizationId(): OrganizationId {
    return this.#within.organizationId;
  }

  get agent(): Loader<AgentId, Agent> {
    return (this.#agent ??= batched("Agent", (ids) => readAgents(this.#rooms.agents, this.#within, ids)));
  }

  /** The newest runs of an agent, `first` of them. */
  newestRuns(first: number): Loader<AgentId, Page<Run>> {
    let load = this.#newestRuns.get(first);
    if (!load) {
      load = batched("Agent", (ids) => newestRunsOfEach(this.#rooms.runs, this.#organizationId, ids, first));
      this.#newestRuns.set(first, load);
    }
    return load;
  }

  /** The agents that use a secret. */
  get secretUsers(): Loader<SecretKey, Agent[]> {
    return (this.#secretUsers ??= keyed("Secret", nameOfSecret, (keys) =>
      readSecretUsers(this.#rooms.agents, this.#organizationId, keys),
    ));
  }

  /** Who gets a mail when runs of an agent fail; null: nobody. */
  get failureMails(): Loader<AgentId, string[] | null> {
    return (this.#failureMails ??= batched("Agent", async (ids) => {
      const found = await readRecipients(this.#rooms.triggers.database, this.#organizationId, ids);
      return new Map(ids.map((id) => [id, found.get(id) ?? null]));
    }));
  }

  /** An agent's draft; null: none is saved. */
  get draft(): Loader<AgentId, Draft | null> {
    return (this.#draft ??= batched("Agent", (ids) => readDrafts(this.#rooms.agents, this.#organizationId, ids)));
  }

  /** Null: the agent has no such version. */
  get version(): Loader<VersionKey, AgentVersion | null> {
    return (this.#version ??= keyed("Version", nameOfVersion, (keys) =>
      readVersions(this.#rooms.agents, this.#organizationId, keys),
    ));
  }

  /** The text of a version; null: not read, as all that were asked for are larger than an answer may be. */
  get source(): Loader<AgentVersionId, string | null> {
    return (this.#source ??= batched("Version", (ids) => readSources(this.#rooms.agents, this.#organizationId, ids)));
  }

  get project(): Loader<ProjectId, Project> {
    return (this.#project ??= batched("Project", (ids) => readProjects(this.#rooms.auth, this.#within, ids)));
  }

  /** The name of somebody who created something, even if they have left. */
  get userName(): Loader<UserId, string> {
    return (this.#userName ??= batched("User", (ids) => userNames(this.#rooms.auth, this.#organizationId, ids)));
  }

  /** The e-mail of a member; null of somebody who is none. */
  get memberEmail(): Loader<UserId, string | null> {
    return (this.#memberEmail ??= batched("User", async (ids) => {
      const found = await memberEmails(this.#rooms.auth, this.#organizationId, ids);
      return new Map(ids.map((id) => [id, found.get(id) ?? null]));
    }));
  }

  /** A member's role and e-mail; null of somebody who is none. */
  get person(): Loader<UserId, Person | null> {
    return (this.#person ??= batched("User", async (ids) => {
      const query = queryFor(this.#rooms.runs.database, this.#within);
      const found = await readPeople(query, this.#organizationId, ids);
      return new Map(ids.map((id) => [id, found.get(id) ?? null]));
    }));
  }

  /** The name of an API key, also of a revoked one. */
  get keyName(): Loader<ApiKeyId, string> {
    return (this.#keyName ??= batched("API key", (ids) => apiKeyNames(this.#rooms.auth, this.#organizationId, ids)));
  }

  /** Null: there is no such run (any more), or it is not reached. */
  get versionOfRun(): Loader<RunId, VersionKey | null> {
    return (this.#versionOfRun ??= batched("Run", (ids) => readRunVersions(this.#rooms.runs, this.#within, ids)));
  }

  /** The sentence that a run was reviewed from; null: none. */
  get draftText(): Loader<RunId, string | null> {
    return (this.#draftText ??= batched("Run", (ids) => readDraftTexts(this.#rooms.runs, this.#organizationId, ids)));
  }

  /** A version made ready to run. Its text counts for the answer's size. */
  get compiled(): Loader<VersionKey, Compiled> {
    return (this.#compiled ??= keyed("Version", nameOfVersion, (keys) => this.#compiledOf(keys)));
  }

  /** One after the other: an organization reads one definition at a time anyway, and the answer's limit ends it in between. */
  async #compiledOf(keys: VersionKey[]): Promise<(Compiled | undefined)[]> {
    const found: (Compiled | undefined)[] = [];
    for (const { agentId, version } of keys) {
      this.#ending.throwIfOver();
      const compiled = await this.#rooms.agents.cache.compiled(this.#organizationId, agentId, version);
      if (compiled) this.#size.charge(compiled.source.length);
      found.push(compiled);
    }
    return found;
  }

  get approval(): Loader<ApprovalId, Approval> {
    return (this.#approval ??= batched("Approval", (ids) => readApprovals(this.#rooms.runs, this.#within, ids)));
  }

  /** By run. */
  get steps(): Loader<StepsKey, Page<Step>> {
    return (this.#steps ??= keyed("Run", JSON.stringify, (keys) => this.#stepsOf(keys)));
  }

  /** One statement for all runs of which the same is wanted. */
  async #stepsOf(keys: StepsKey[]): Promise<(Page<Step> | undefined)[]> {
    const found = new Map<StepsKey, Page<Step> | undefined>();
    for (const group of Map.groupBy(keys, ({ page, filter }) => JSON.stringify([page, filter])).values()) {
      const { page, filter } = group[0]!;
      const ids = group.map(({ runId }) => runId);
      const pages = await listStepsOfRuns(this.#rooms.runs, this.#organizationId, ids, page, filter);
      for (const key of group) found.set(key, pages.get(key.runId));
    }
    return keys.map((key) => found.get(key));
  }

  /** By run. */
  get stepCount(): Loader<RunId, number> {
    return (this.#stepCount ??= batched("Run", (ids) => countSteps(this.#rooms.runs, this.#organizationId, ids)));
  }

  /** By step: how many steps are inside it. */
  get childCounts(): Loader<StepId, StepCount[]> {
    return (this.#childCounts ??= keyed("Step", nameOfParts, (steps: StepId[]) =>
      countChildren(this.#rooms.runs, this.#organizationId, steps),
    ));
  }

  /** The use of models by a step. */
  get stepUsage(): Loader<StepId, ModelUsage | null> {
    return (this.#stepUsage ??= keyed("Step", nameOfParts, (steps: StepId[]) =>
      usageOfSteps(this.#rooms.runs, this.#organizationId, steps),
    ));
  }

  /** With all that is inside the step. Each step that is read for it is a value of the answer: a list of runs may have a million. */
  get totalStepUsage(): Loader<StepId, ModelUsage | null> {
    const walked = (count: number): void => {
      this.#ending.throwIfOver();
      this.#size.addValues(count);
    };
    return (this.#totalStepUsage ??= keyed("Step", nameOfParts, (steps: StepId[]) =>
      totalUsageOfSteps(this.#rooms.runs, this.#organizationId, steps, walked),
    ));
  }

  /** The use of a model connection on its last days. */
  get modelSpend(): Loader<SpendKey, SpendDay[]> {
    return (this.#modelSpend ??= keyed("ModelConnection", nameOfParts, (keys: SpendKey[]) =>
      this.#rooms.rates.budgets.spendOf(this.#organizationId, keys),
    ));
  }

  /** The things that a run waits for. */
  get waits(): Loader<WaitsKey, RunWait[]> {
    return (this.#waits ??= keyed("Run", nameOfParts, (keys: WaitsKey[]) =>
      listWaits(this.#rooms.runs, this.#organizationId, keys),
    ));
  }

  /** A value too large to come with its row. The caller has charged for it. */
  get payload(): Loader<PayloadKey, JsonText> {
    return (this.#payload ??= keyed("Payload", nameOfParts, (keys: PayloadKey[]) =>
      readPayloads(this.#rooms.runs, this.#organizationId, keys),
    ));
  }

  /** The first characters of such a value. */
  get beginning(): Loader<PayloadKey, string> {
    return (this.#beginning ??= keyed("Payload", nameOfParts, (keys: PayloadKey[]) =>
      readBeginnings(this.#rooms.runs, this.#organizationId, keys),
    ));
  }

  /** Null: there is no such step (yet). */
  get stepName(): Loader<StepId, string | null> {
    return (this.#stepName ??= keyed("Step", nameOfParts, (steps: StepId[]) =>
      readStepNames(this.#rooms.runs, this.#organizationId, steps),
    ));
  }

  /** How a server describes a tool. The caller has charged for it: an answer that turned out too large ends it. */
  get toolDescription(): Loader<ToolText, ShownDescription> {
    const throwIfOver = (): void => {
      this.#ending.throwIfOver();
      this.#size.charge(0);
    };
    return (this.#toolDescription ??= keyed("ToolDescription", nameOfParts, (texts: ToolText[]) =>
      readDescriptions(this.#rooms.agents, this.#organizationId, texts, throwIfOver),
    ));
  }

  /** The fields of a version's form; none if it has no form. Does not read the definition's text. */
  get form(): Loader<VersionKey, FormField[]> {
    return (this.#form ??= keyed("Version", nameOfVersion, async (keys) => {
      const found: FormField[][] = [];
      for (const { agentId, version } of keys) {
        this.#ending.throwIfOver();
        const compiled = await this.#rooms.agents.cache.compiled(this.#organizationId, agentId, version);
        found.push(inputFields(compiled?.inputSchema));
      }
      return found;
    }));
  }

  /** An example input for a command: its agent's published version takes it. */
  get sample(): Loader<AgentId, JsonObject> {
    return (this.#sample ??= batched("Agent", (ids) => this.#samplesOf(ids)));
  }

  /** Forms may be large: others have their turn after each. */
  async #samplesOf(ids: AgentId[]): Promise<Map<AgentId, JsonObject>> {
    const { agents, triggers } = this.#rooms;
    const today = new Date(triggers.clock.now()).toISOString().slice(0, 10);
    const found = new Map<AgentId, JsonObject>();
    for (const id of ids) {
      this.#ending.throwIfOver();
      const version = await published(agents, this.#within, id);
      found.set(id, sampleInput(version?.inputSchema, today));
      await new Promise(setImmediate);
    }
    return found;
  }

  /** Null: it was deleted, or is not reached. */
  get trigger(): Loader<TriggerId, Trigger | null> {
    return (this.#trigger ??= orNull("Trigger", (ids) => readTriggerRows(this.#database, this.#within, ids)));
  }

  /** Also of a deleted one. */
  get triggerName(): Loader<TriggerId, string> {
    return (this.#triggerName ??= batched("Trigger", (ids) => triggerNames(this.#database, this.#organizationId, ids)));
  }

  /** The present token of a trigger; null: it has none. */
  get token(): Loader<TriggerId, PresentToken | null> {
    return (this.#token ??= orNull("Trigger", (ids) => readTokens(this.#database, this.#organizationId, ids)));
  }

  /** The newest firings of a trigger or of an event, `first` of them. */
  newestFirings(of: "trigger_id" | "event_id", first: number): Loader<TriggerId | EventId, Page<Firing>> {
    const name = `${of} ${first}`;
    let load = this.#newestFirings.get(name);
    if (!load) {
      load = batched("Firing", async (ids) => {
        const found = await newestFiringsOfEach(this.#database, this.#within, of, ids, first + 1);
        return new Map(ids.map((id) => [id, pageOf(found.get(id) ?? [], first)]));
      });
      this.#newestFirings.set(name, load);
    }
    return load;
  }

  /** Null: it is older than firings are kept. */
  get firing(): Loader<FiringId, Firing | null> {
    return (this.#firing ??= orNull("Firing", (ids) => readFiringRows(this.#database, this.#within, ids)));
  }

  /** The firing that started a run; null: nothing did, or it is older than firings are kept. */
  get firingOfRun(): Loader<RunId, Firing | null> {
    return (this.#firingOfRun ??= orNull("Run", (ids) => firingsOfRuns(this.#database, this.#within, ids)));
  }

  /** By firing. The caller has been charged for it. */
  get firingPayload(): Loader<FiringId, JsonText> {
    return (this.#firingPayload ??= batched("Firing", async (ids) => {
      const texts = await readFiringPayloads(this.#database, this.#organizationId, ids);
      return new Map([...texts].map(([id, text]) => [id, JsonText.ofText(text)]));
    }));
  }

  /** Null: the mapping used neither headers nor query. The caller has charged for it. */
  get firingRequest(): Loader<FiringId, JsonText | null> {
    return (this.#firingRequest ??= orNull("Firing", async (ids) => {
      const texts = await readFiringRequests(this.#database, this.#organizationId, ids);
      return new Map([...texts].map(([id, text]) => [id, JsonText.ofText(text)]));
    }));
  }

  /** Null: it is older than events are kept, or is not reached. */
  get event(): Loader<EventId, Event | null> {
    return (this.#event ??= orNull("Event", (ids) => readEventRows(this.#database, this.#within, ids)));
  }

  /** Which triggers an event matches, and why not the others. */
  get explained(): Loader<Event, Explained> {
    return (this.#explained ??= keyed(
      "Event",
      ({ id }: Event) => id,
      (events) => explainEvents(this.#rooms.triggers, this.#within, events),
    ));
  }

  /** By event. The caller has been charged for it. */
  get eventData(): Loader<EventId, JsonText> {
    return (this.#eventData ??= batched("Event", async (ids) => {
      const texts = await readEventData(this.#database, this.#organizationId, ids);
      return new Map([...texts].map(([id, text]) => [id, JsonText.ofText(text)]));
    }));
  }

  get #database(): Rooms["triggers"]["database"] {
    return this.#rooms.triggers.database;
  }
}

const nameOfSecret = ({ projectId, name }: SecretKey): string => `${projectId} ${name}`;

const nameOfParts = (key: object): string => Object.values(key).join(" ");

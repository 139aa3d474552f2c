/** The value behind each object type of the schema, by the type's name. */
import type { Agent, AgentVersion } from "../../agents/agent.ts";
import type { WrittenEvent } from "../../audit/event.ts";
import type { AuditEvent } from "../../audit/read-events.ts";
import type { PinnedTool, ToolChange } from "../../agents/tools/pinned-tool.ts";
import type { ShownDescription } from "../../agents/tools/read-descriptions.ts";
import type { Draft } from "../../agents/draft-store.ts";
import type { Actor } from "../../lib/actor.ts";
import type { ApiKey } from "../../auth/api-key.ts";
import type { ApiKeyPreset } from "../../auth/api-keys/api-key-presets.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Membership } from "../../auth/accounts/memberships.ts";
import type { Organization } from "../../auth/organization.ts";
import type { OwnSession } from "../../auth/sessions/own-sessions.ts";
import type { Project } from "../../projects/project.ts";
import type { SignedIn } from "../../auth/sessions/session.ts";
import type { FormField } from "../../definition/form/form.ts";
import type { PlannedTask } from "../../definition/planned-tasks.ts";
import type { Problem } from "../../definition/text/problem.ts";
import type { UserId } from "../../lib/ids.ts";
import type { Invitation } from "../../members/invitation.ts";
import type { OpenInvitation } from "../../members/invitation-store.ts";
import type { Member } from "../../members/member.ts";
import type { RateLimit } from "../../rates/rates.ts";
import type { ModelTest } from "../../llm/test-connection.ts";
import type { AgentModelUse, ConnectionModelUse } from "../../rates/model-costs.ts";
import type { SpendDay } from "../../rates/read-spend.ts";
import type { UsageDay } from "../../rates/usage.ts";
import type { RunDraft } from "../../run-drafts/draft-run-input.ts";
import type { Found } from "../../run-drafts/fields/sentence.ts";
import type { RunWait } from "../../runs/read/run-waits.ts";
import type { CronInstant } from "../../triggers/kinds/cron/preview-cron.ts";
import type { DecisionResult } from "../../runs/decide-approval.ts";
import type { ModelUsage } from "../../runs/read/model-usage.ts";
import type { StepCount } from "../../runs/read/step-counts.ts";
import type { ErrorResponse } from "../../definition/workflow-error.ts";
import type {
  Approval,
  Attempt,
  GivenDecision,
  HttpResponse,
  Reassignment,
  Run,
  RunError,
  Step,
} from "../../execution/run/run.ts";
import type { ToolCall } from "../../execution/run/tool-call.ts";
import type { Badges } from "../../runs/handle/badge-counts.ts";
import type { Count } from "../../runs/read/count-runs.ts";
import type { RunEvent } from "../../runs/watch/watch-run-events.ts";
import type { TextDelta } from "../../runs/watch/watch-texts.ts";
import type { FieldProblem, Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { EventMiss } from "../../triggers/matching/explain-event.ts";
import type { Event } from "../../events/event.ts";
import type { Firing, Trigger } from "../../triggers/store/trigger.ts";
import type { Secret } from "../../secrets/secret.ts";
import type { ModelConnection } from "../../models/model-connection.ts";
import type { ModelLimits, ModelPrices } from "../../llm/connection.ts";

/** A person as others see them; `email` and `organization` are read when asked for. */
export type Person = { id: UserId; name: string };

export type ShownLlm = {
  isConfigured: boolean;
  host: string | null;
  model: string | null;
  hasKey: boolean | null;
  test: ModelTest | null;
};

/** `name` tells it from every other list, also from those of other objects; `read` answers undefined for what is no key. */
export type List<Node> = {
  name: string;
  write: (node: Node) => string;
  read: (key: string) => string | undefined;
};
export type Edge<Node> = { list: List<Node>; node: Node };
export type PageInfo = { hasNextPage: boolean; startCursor: string | null; endCursor: string | null };
export type Connection<Node> = { list: List<Node>; items: Node[]; hasNextPage: boolean };

export type Objects = {
  RunDraft: RunDraft;
  RunDraftField: Found;
  PageInfo: PageInfo;
  User: Person;
  Organization: Organization;
  Project: Project;
  ApiKey: ApiKey & { secret?: string };
  Secret: Secret;
  ModelConnection: ModelConnection;
  ModelPrices: ModelPrices;
  ModelLimits: ModelLimits;
  Member: Member;
  Invitation: Invitation & { url?: string; isMailed?: boolean };
  InvitationPreview: OpenInvitation;
  ApiKeyPreset: ApiKeyPreset;
  LoginResult: SignedIn;
  PasswordReset: { email: string };
  Session: OwnSession;
  RevokeOtherSessionsResult: { revokedCount: number };
  Agent: Agent;
  AgentVersion: AgentVersion;
  AgentDraft: Draft;
  PinnedTool: PinnedTool;
  ToolDescription: ShownDescription;
  ToolChange: ToolChange;
  InputField: FormField;
  InputFieldChoice: NonNullable<FormField["choices"]>[number];
  DefinitionCheck: { valid: boolean; problems: Problem[] };
  DefinitionProblem: Problem;
  CronInstant: CronInstant;
  Run: Run;
  ErrorResponse: ErrorResponse;
  RunError: RunError;
  RunSummary: Run;
  RunSummaryValue: { title: string; text: string };
  Actor: Actor;
  Caller: Caller;
  Membership: Membership;
  RunEvent: RunEvent;
  TextDelta: TextDelta;
  CancelRunsResult: { cancelledCount: number };
  PlannedTask: PlannedTask;
  Count: Count;
  Badges: Badges;
  RunWait: RunWait;
  Step: Step;
  ModelUsage: ModelUsage;
  StepCount: StepCount;
  Attempt: Attempt;
  HttpResponse: HttpResponse;
  Approval: Approval;
  ApprovalDecision: GivenDecision;
  DecideApprovalsResult: { results: DecisionResult<string>[] };
  DecisionResult: DecisionResult<string>;
  /** A returned error would be thrown. */
  DecisionRefusal: Pick<Refusal, "code" | "details" | "message">;
  ApprovalReassignment: Reassignment;
  ToolCall: ToolCall;
  Trigger: Trigger;
  TriggerPolicy: JsonObject;
  Firing: Firing;
  Event: Event;
  EventMiss: EventMiss;
  FieldProblem: FieldProblem;
  RateLimit: RateLimit;
  UsageDay: UsageDay;
  AgentModelUse: AgentModelUse;
  ConnectionModelUse: ConnectionModelUse;
  ModelSpend: SpendDay;
  Llm: ShownLlm;
  LlmTest: ModelTest;
  ModelTest: ModelTest;
  AuditEvent: AuditEvent;
  AuditSubject: NonNullable<WrittenEvent["subject"]>;
  ProjectConnection: Connection<Project>;
  ApiKeyConnection: Connection<ApiKey>;
  SecretConnection: Connection<Secret>;
  MemberConnection: Connection<Member>;
  AuditEventConnection: Connection<AuditEvent>;
  InvitationConnection: Connection<Invitation>;
  SessionConnection: Connection<OwnSession>;
  AgentConnection: Connection<Agent>;
  AgentVersionConnection: Connection<AgentVersion>;
  PinnedToolConnection: Connection<PinnedTool>;
  RunConnection: Connection<Run>;
  StepConnection: Connection<Step>;
  ApprovalConnection: Connection<Approval>;
  TriggerConnection: Connection<Trigger>;
  FiringConnection: Connection<Firing>;
  EventConnection: Connection<Event>;
};

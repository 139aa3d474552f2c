/** The value behind each object type of the schema, by the type's name. */
import type { Agent, AgentVersion } from "../agents/agent.ts";
import type { Draft } from "../agents/draft-store.ts";
import type { Actor } from "../lib/actor.ts";
import type { ApiKey } from "../auth/api-key.ts";
import type { ApiKeyPreset } from "../auth/api-key-presets.ts";
import type { Caller } from "../auth/caller.ts";
import type { Membership } from "../auth/memberships.ts";
import type { Organization } from "../auth/organization.ts";
import type { Project } from "../projects/project.ts";
import type { SignedIn } from "../auth/session.ts";
import type { FormField } from "../definition/form.ts";
import type { PlannedTask } from "../definition/planned-tasks.ts";
import type { Problem } from "../definition/problem.ts";
import type { UserId } from "../lib/ids.ts";
import type { Invitation } from "../members/invitation.ts";
import type { OpenInvitation } from "../members/invitation-store.ts";
import type { Member } from "../members/member.ts";
import type { RateLimit } from "../rates/rates.ts";
import type { UsageDay } from "../rates/usage.ts";
import type { RunWait } from "../runs/run-waits.ts";
import type { StepCount } from "../runs/step-counts.ts";
import type { Approval, Attempt, HttpResponse, Run, RunError, Step } from "../execution/run.ts";
import type { Badges } from "../runs/badge-counts.ts";
import type { Count } from "../runs/count-runs.ts";
import type { RunEvent } from "../runs/watch-run.ts";
import type { Secret } from "../secrets/secret.ts";

/** A person as others see them; `email` and `organization` are read when asked for. */
export type Person = { id: UserId; name: string };

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
  PageInfo: PageInfo;
  User: Person;
  Organization: Organization;
  Project: Project;
  ApiKey: ApiKey & { secret?: string };
  Secret: Secret;
  Member: Member;
  Invitation: Invitation & { url?: string };
  InvitationPreview: OpenInvitation;
  ApiKeyPreset: ApiKeyPreset;
  LoginResult: SignedIn;
  Agent: Agent;
  AgentVersion: AgentVersion;
  AgentDraft: Draft;
  InputField: FormField;
  InputFieldChoice: NonNullable<FormField["choices"]>[number];
  DefinitionCheck: { valid: boolean; problems: Problem[] };
  DefinitionProblem: Problem;
  Run: Run;
  RunError: RunError;
  Actor: Actor;
  Caller: Caller;
  Membership: Membership;
  RunEvent: RunEvent;
  CancelRunsResult: { cancelledCount: number };
  PlannedTask: PlannedTask;
  Count: Count;
  Badges: Badges;
  RunWait: RunWait;
  Step: Step;
  StepCount: StepCount;
  Attempt: Attempt;
  HttpResponse: HttpResponse;
  Approval: Approval;
  RateLimit: RateLimit;
  UsageDay: UsageDay;
  ProjectConnection: Connection<Project>;
  ApiKeyConnection: Connection<ApiKey>;
  SecretConnection: Connection<Secret>;
  MemberConnection: Connection<Member>;
  InvitationConnection: Connection<Invitation>;
  AgentConnection: Connection<Agent>;
  AgentVersionConnection: Connection<AgentVersion>;
  RunConnection: Connection<Run>;
  StepConnection: Connection<Step>;
  ApprovalConnection: Connection<Approval>;
};

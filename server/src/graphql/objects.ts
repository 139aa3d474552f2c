/** What stands behind each object type of the schema, by its name. */
import type { Agent, AgentVersion } from "../agents/agent.ts";
import type { ApiKey } from "../auth/api-key.ts";
import type { Organization } from "../auth/organization.ts";
import type { Project } from "../auth/project.ts";
import type { SignedIn } from "../auth/session.ts";
import type { FormField } from "../definition/form.ts";
import type { Problem } from "../definition/problem.ts";
import type { UserId } from "../lib/ids.ts";
import type { Approval, Attempt, Run, RunError, Step } from "../runs/run.ts";
import type { RunEvent } from "../runs/watch-run.ts";

/** A person as others see them; `email` and `organization` are read when asked for. */
export type Person = { id: UserId; name: string };
export type Starter = Run["startedBy"];
export type Decider = NonNullable<Approval["decidedBy"]>;

export type Edge<Node> = { cursor: string; node: Node };
export type PageInfo = { hasNextPage: boolean; endCursor: string | null };
export type Connection<Node> = { edges: Edge<Node>[]; nodes: Node[]; pageInfo: PageInfo };

export type Objects = {
  PageInfo: PageInfo;
  User: Person;
  Organization: Organization;
  Project: Project;
  ApiKey: ApiKey & { secret?: string };
  LoginResult: SignedIn;
  Agent: Agent;
  AgentVersion: AgentVersion;
  InputField: FormField;
  InputFieldChoice: NonNullable<FormField["choices"]>[number];
  DefinitionCheck: { valid: boolean; problems: Problem[] };
  DefinitionProblem: Problem;
  Run: Run;
  RunError: RunError;
  RunStarter: Starter;
  RunEvent: RunEvent;
  Step: Step;
  Attempt: Attempt;
  Approval: Approval;
  ApprovalDecider: Decider;
  ProjectConnection: Connection<Project>;
  ApiKeyConnection: Connection<ApiKey>;
  AgentConnection: Connection<Agent>;
  AgentVersionConnection: Connection<AgentVersion>;
  RunConnection: Connection<Run>;
  StepConnection: Connection<Step>;
  ApprovalConnection: Connection<Approval>;
};

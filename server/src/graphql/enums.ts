/** The enumerations, in lower case as the specification has them. */
import type { Builder } from "./builder.ts";

const RUN_STATUS = {
  pending: { description: "Queued, not started." },
  running: { description: "Executing, or waiting for a time or an event." },
  paused: { description: "Waiting for a person's approval." },
  completed: { description: "Finished successfully." },
  failed: { description: "Finished with an error." },
  cancelled: { description: "Stopped by hand." },
} as const;

const STEP_STATUS = {
  pending: { description: "Waiting for a slot." },
  running: { description: "Executing, or waiting for a time or an event." },
  paused: { description: "Waiting for a person's approval." },
  completed: { description: "Finished successfully." },
  failed: { description: "Finished with an error." },
  skipped: { description: "Its condition was false." },
  cancelled: { description: "Stopped because its run was." },
} as const;

const STARTER_KIND = {
  user: { description: "A person with an access token." },
  key: { description: "An API key." },
  trigger: { description: "A trigger of the agent." },
  run: { description: "Another run." },
} as const;

const AGENT_STATUS = {
  draft: { description: "Never published: cannot run." },
  active: { description: "Can be run." },
  paused: { description: "Refuses new runs for now; open runs go on." },
  archived: { description: "Put away: refuses new runs and is not listed by `agents`." },
} as const;

const APPROVAL_STATUS = {
  open: { description: "Waits for a decision." },
  approved: { description: "Somebody approved." },
  rejected: { description: "Somebody rejected." },
  expired: { description: "Nobody decided in time." },
  withdrawn: { description: "Its run ended before a decision." },
} as const;

const DECISION = {
  approve: { description: "The run goes on, with the answer." },
  reject: {
    description: "The step fails with `approval-rejected`, or goes on with `approved: false` if the agent says so.",
  },
} as const;

const INPUT_FIELD_TYPE = {
  text: { description: "A string." },
  choice: { description: "One of `choices`." },
  date: { description: "A string like 2026-11-21." },
  boolean: { description: "true or false." },
  number: { description: "Any number." },
  integer: { description: "A whole number." },
  list: { description: "A list of strings, of `choices` if there are any." },
} as const;

const PLAN = {
  free: { description: "10 requests a minute." },
  starter: { description: "100 requests a minute." },
  pro: { description: "1,000 requests a minute." },
  enterprise: { description: "As agreed, or without limit." },
} as const;

export const addEnums = (builder: Builder) => ({
  RunStatus: builder.enumType("RunStatus", {
    description: "Where a run stands; completed, failed and cancelled are final.",
    values: RUN_STATUS,
  }),
  StepStatus: builder.enumType("StepStatus", { description: "Where a step stands.", values: STEP_STATUS }),
  StarterKind: builder.enumType("StarterKind", { description: "What can start a run.", values: STARTER_KIND }),
  AgentStatus: builder.enumType("AgentStatus", { description: "Whether an agent can be run.", values: AGENT_STATUS }),
  ApprovalStatus: builder.enumType("ApprovalStatus", {
    description: "Where an approval stands; all but open are final.",
    values: APPROVAL_STATUS,
  }),
  Decision: builder.enumType("Decision", { description: "An answer to an approval.", values: DECISION }),
  InputFieldType: builder.enumType("InputFieldType", {
    description: "What a form shows for a field.",
    values: INPUT_FIELD_TYPE,
  }),
  Plan: builder.enumType("Plan", { description: "What an organization may use.", values: PLAN }),
});

export type Enums = ReturnType<typeof addEnums>;

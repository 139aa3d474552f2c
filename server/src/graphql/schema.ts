/** The whole schema. Nothing of it is created on import, and it is not created when a field does not say who may ask for it. */
import { getNullableType, isInputObjectType, type GraphQLInputFieldMap, type GraphQLSchema } from "graphql";
import { addActor } from "./builder/actors.ts";
import { addAgentSettings } from "./agents/agent-settings.ts";
import { addAgentDrafts } from "./agents/agent-drafts.ts";
import { addAgentVersions } from "./agents/agent-versions.ts";
import { addAgents } from "./agents/agents.ts";
import { addApiKeys } from "./people/api-keys.ts";
import { addApprovals } from "./runs/approvals.ts";
import { addDecisions } from "./runs/decisions.ts";
import { addAudit } from "./people/audit.ts";
import { readFieldAccess } from "./builder/access.ts";
import { createBuilder, type Builder } from "./builder/builder.ts";
import { addChanges } from "./runs/changes.ts";
import { addCaller } from "./people/caller.ts";
import { chargeFields } from "./documents/charge.ts";
import { addPageInfo } from "./builder/connection.ts";
import { addCounts } from "./runs/counts.ts";
import { addCron } from "./triggers/cron.ts";
import { addLlm } from "./people/llm.ts";
import { addRunDrafts } from "./runs/run-drafts.ts";
import { addDefinitions } from "./agents/definitions.ts";
import { addEnums } from "./builder/enums.ts";
import { addInvitations } from "./people/invitations.ts";
import { addMembers } from "./people/members.ts";
import { addModelConnections } from "./people/model-connections.ts";
import { addNode } from "./node.ts";
import { addOrganizations } from "./people/organizations.ts";
import { addPinnedTools } from "./agents/pinned-tools.ts";
import { addPlannedTasks } from "./runs/planned-tasks.ts";
import { addPublish } from "./agents/publish.ts";
import { addRates } from "./people/rates.ts";
import { addRelatives } from "./runs/relatives.ts";
import { addRerunAndRetry } from "./runs/rerun-and-retry.ts";
import { addRunFilter } from "./runs/run-filter.ts";
import { addRunWaits } from "./runs/run-waits.ts";
import { addRunSummary } from "./runs/run-summary.ts";
import { addRuns } from "./runs/runs.ts";
import { addScalars } from "./builder/scalars.ts";
import { addSecrets } from "./people/secrets.ts";
import { addSessions } from "./people/sessions.ts";
import { addPasswordResets } from "./people/password-resets.ts";
import { addSignIn } from "./people/sign-in.ts";
import { addSignal } from "./runs/signal.ts";
import { addStartAndCancel } from "./runs/start-and-cancel.ts";
import { addModelUsage } from "./runs/model-usage.ts";
import { addStepCounts } from "./runs/step-counts.ts";
import { addSteps } from "./runs/steps.ts";
import { addEvents } from "./triggers/events.ts";
import { addFirings } from "./triggers/firings.ts";
import { addTriggerMutations } from "./triggers/change-triggers.ts";
import { addTriggers } from "./triggers/triggers.ts";
import { addUpdates } from "./runs/updates.ts";

export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  const enums = addEnums(builder);
  addRoots(builder);
  addScalars(builder);
  addNodeInterface(builder);
  addPageInfo(builder);
  addOrganizations(builder, enums);
  addMembers(builder, enums);
  addInvitations(builder, enums);
  addSignIn(builder);
  addPasswordResets(builder);
  addSessions(builder, enums);
  addApiKeys(builder);
  addSecrets(builder);
  addModelConnections(builder, enums);
  addActor(builder, enums);
  addCaller(builder, enums);
  addRates(builder, enums);
  addAudit(builder, enums);
  addAgents(builder, enums);
  addAgentVersions(builder);
  addAgentDrafts(builder);
  addPublish(builder);
  addAgentSettings(builder, enums);
  addPinnedTools(builder);
  addDefinitions(builder, enums);
  addCron(builder);
  addRunDrafts(builder, enums);
  addLlm(builder, enums);
  const runFilter = addRunFilter(builder, enums);
  addRuns(builder, enums, runFilter);
  addRunSummary(builder);
  addRelatives(builder, runFilter);
  addStartAndCancel(builder, runFilter);
  addRerunAndRetry(builder);
  addSignal(builder);
  addSteps(builder, enums);
  addModelUsage(builder);
  addStepCounts(builder, enums);
  addRunWaits(builder);
  addPlannedTasks(builder);
  addApprovals(builder, enums);
  addDecisions(builder, enums);
  addTriggers(builder, enums);
  addTriggerMutations(builder, enums);
  addFirings(builder, enums);
  addEvents(builder);
  addNode(builder);
  addUpdates(builder);
  addChanges(builder);
  addCounts(builder, runFilter);
  const schema = chargeFields(makeRootsNullable(builder.toSchema({ sortSchema: false })));
  readFieldAccess(schema);
  keepInputFieldsFast(schema);
  return schema;
}

function addRoots(builder: Builder): void {
  builder.queryType({
    description:
      "Reads. The fields of an operation are executed in parallel. If one is refused, the others are still answered.",
  });
  builder.mutationType({
    description:
      "Changes. The fields of an operation are executed one after another. If one is refused, the others are still executed and answered.",
  });
  builder.subscriptionType({
    description: "Live changes, over WebSocket (`graphql-transport-ws`) or Server-Sent Events.",
  });
}

function addNodeInterface(builder: Builder): void {
  builder.interfaceType("Node", {
    description: "An object with an id, which `node(id)` finds.",
    // Each type has its own resolver: ids are TypeIDs here and UUIDs within.
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        description: "The object's id. The prefix tells its type; treat the rest as opaque.",
        resolve: () => "",
      }),
    }),
  });
}

/**
 * graphql-js keeps the fields of an input type as a dictionary, whose values the runtime lists for each request with variables.
 * An object made as a whole keeps them in order; like the dictionary it inherits nothing, so that no client finds `constructor`.
 */
function keepInputFieldsFast(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isInputObjectType(type)) continue;
    const fields: GraphQLInputFieldMap = Object.setPrototypeOf({ ...type.getFields() }, null);
    type.getFields = () => fields;
  }
}

/**
 * The fields of Query and Mutation are nullable, so that one refusal does not take the other fields' answers with it:
 * of two mutations in one operation, the first is done and answered when the second is refused, and the third is executed.
 * This holds for the whole schema, so that no field has to say it.
 */
function makeRootsNullable(schema: GraphQLSchema): GraphQLSchema {
  for (const type of [schema.getQueryType(), schema.getMutationType()])
    for (const field of Object.values(type?.getFields() ?? {})) field.type = getNullableType(field.type);
  return schema;
}

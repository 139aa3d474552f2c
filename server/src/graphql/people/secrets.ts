/** Secrets: what they are called and who set them. No field has a value. */
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { deleteSecret } from "../../secrets/delete-secret.ts";
import { listSecrets, readSecret } from "../../secrets/list-secrets.ts";
import type { Secret } from "../../secrets/secret.ts";
import { setSecret } from "../../secrets/set-secret.ts";
import { checkFilter, idOf, optionalId, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { actingOf, callerOf, type Context } from "../context/context.ts";

export function addSecrets(builder: Builder): void {
  addSecret(builder);
  addConnection(builder, "Secret");
  addQuery(builder);
  addMutations(builder);
}

function addSecret(builder: Builder): void {
  builder.objectType("Secret", {
    description:
      "A secret of a project, which the definitions of its agents use in calls, and with which webhooks check signatures. Its value cannot be read.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("secret", id),
        description: "The secret's id, `secret_…`.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "The secret's name, unique in its project." }),
      project: t.field({
        scope: "inherited",
        type: "Project",
        description: "The project that the secret belongs to.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      createdBy: t.expose("createdBy", {
        scope: "secrets:write",
        type: "Actor",
        description: "Who created the secret.",
      }),
      createdAt: t.expose("createdAt", {
        scope: "secrets:write",
        type: "DateTime",
        description: "When the secret was created.",
      }),
      updatedBy: t.expose("updatedBy", {
        scope: "secrets:write",
        type: "Actor",
        description: "Who set the secret's present value.",
      }),
      updatedAt: t.expose("updatedAt", {
        scope: "secrets:write",
        type: "DateTime",
        description: "When the secret's present value was set.",
      }),
      usedBy: t.field({
        scope: "secrets:write",
        type: ["Agent"],
        extensions: { cost: { most: LIMITS.secretUsersListed } },
        description: `The agents that use the secret, in their published version or to check a webhook's signatures: by name, at most ${LIMITS.secretUsersListed}.`,
        resolve: ({ projectId, name }, _, { loaders }) => loaders.secretUsers({ projectId, name }),
      }),
    }),
  });
}

const SECRETS = listById("secrets", "secret");

export const findSecret = async (context: Context, id: string): Promise<Secret> =>
  requireFound("secret", await readSecret(context.secrets, callerOf(context).organizationId, idOf("secret", id)));

function addQuery(builder: Builder): void {
  builder.queryField("secrets", (t) =>
    t.field({
      scope: "secrets:write",
      narrowedKeys: false,
      type: "SecretConnection",
      extensions: PAGED,
      description: "The organization's secrets, newest first, without their values. NOT_FOUND for an unknown project.",
      args: {
        projectId: t.arg.id({ required: false, description: "Return only secrets of this project." }),
        ...pageArguments(builder),
      },
      resolve: async (_, { projectId, ...page }, context) => {
        const caller = callerOf(context);
        const filter = optionalId("projectId", "project", projectId);
        if (filter.projectId) await checkFilter(context, caller, { projectId: [filter.projectId] });
        return connect(SECRETS, page, (request) => listSecrets(context.secrets, caller, { ...filter, ...request }));
      },
    }),
  );
}

function addMutations(builder: Builder): void {
  const set = builder.inputType("SetSecretInput", {
    description: "Input of `setSecret`.",
    fields: (t) => ({
      projectId: t.id({ description: "The project whose agents may use the secret." }),
      name: t.string({
        description: `The secret's name: 1 to ${LIMITS.identifierCharacters} letters, digits, dots, hyphens and underscores, beginning with a letter or underscore.`,
      }),
      value: t.string({
        description: `The value: text of at most ${LIMITS.secretBytes} bytes. Send it as a variable.`,
      }),
    }),
  });
  const remove = builder.inputType("DeleteSecretInput", {
    description: "Input of `deleteSecret`.",
    fields: (t) => ({ secretId: t.id({ description: "The secret's id." }) }),
  });
  builder.mutationField("setSecret", (t) =>
    t.field({
      scope: "secrets:write",
      narrowedKeys: false,
      type: "Secret",
      description:
        "Creates a secret, or replaces the value of the project's secret of this name. The value cannot be read back. " +
        `CONFLICT if the project has ${LIMITS.secretsPerProject} other secrets.`,
      args: { input: t.arg({ type: set, description: "Input of `setSecret`." }) },
      resolve: (_, { input: { projectId, name, value } }, context) =>
        setSecret(context.secrets, actingOf(context), { projectId: idOf("project", projectId), name, value }),
    }),
  );
  builder.mutationField("deleteSecret", (t) =>
    t.field({
      scope: "secrets:write",
      narrowedKeys: false,
      type: "Secret",
      description: "Deletes a secret for good. Calls that need it fail from then on.",
      args: { input: t.arg({ type: remove, description: "Input of `deleteSecret`." }) },
      resolve: (_, { input }, context) =>
        deleteSecret(context.secrets, actingOf(context), idOf("secret", input.secretId)),
    }),
  );
}

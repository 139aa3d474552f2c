/** Who asks: the user, the organization and its projects. */
import { createProject, listProjects, readProject } from "../../projects/projects.ts";
import type { Organization } from "../../auth/organization.ts";
import { readOrganization, renameOrganization } from "../../auth/accounts/organizations.ts";
import type { Project } from "../../projects/project.ts";
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { requireFound, idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { actingOf, callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import type { Connection } from "../builder/objects.ts";

export function addOrganizations(builder: Builder, enums: Enums): void {
  addOrganization(builder, enums);
  addUser(builder);
  addProject(builder);
  addConnection(builder, "Project");
  addQueries(builder);
  addCreateProject(builder);
  addRename(builder);
}

function addOrganization(builder: Builder, enums: Enums): void {
  builder.objectType("Organization", {
    description: "An organization: the tenant. Nothing that belongs to it is visible to other organizations.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("organization", id),
        description: "The organization's id, `org_…`.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "The organization's name." }),
      plan: t.expose("plan", { scope: "inherited", type: enums.Plan, description: "The organization's plan." }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the organization was created.",
      }),
    }),
  });
}

const PROJECTS = listById("projects", "project");

const projectsOf = (context: Context, page: Parameters<typeof connect>[1]): Promise<Connection<Project>> =>
  connect(PROJECTS, page, (request) => listProjects(context.auth, callerOf(context), request));

export async function findOrganization(context: Context, id = callerOf(context).organizationId): Promise<Organization> {
  const isOwn = id === callerOf(context).organizationId;
  return requireFound("organization", isOwn ? await readOrganization(context.auth, id) : undefined);
}

function addUser(builder: Builder): void {
  builder.objectType("User", {
    description: "A person who can sign in.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("user", id),
        description: "The user's id, `user_…`.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "The user's name." }),
      email: t.string({
        scope: "inherited",
        nullable: true,
        description: "The user's e-mail address. Null if the user is no longer a member of the organization.",
        resolve: ({ id }, _, { loaders }) => loaders.memberEmail(id),
      }),
    }),
  });
}

function addProject(builder: Builder): void {
  builder.objectType("Project", {
    description: "A project: a folder of agents.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("project", id),
        description: "The project's id, `project_…`.",
      }),
      handle: t.exposeString("handle", {
        scope: "inherited",
        description: "The project's handle: the `namespace` of its agents' definitions. It never changes.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "The project's name." }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the project was created.",
      }),
    }),
  });
}

export async function findProject(context: Context, id: string): Promise<Project> {
  return requireFound("project", await readProject(context.auth, callerOf(context), idOf("project", id)));
}

function addQueries(builder: Builder): void {
  builder.queryField("me", (t) =>
    t.field({
      scope: null,
      narrowedKeys: true,
      type: "User",
      description: "The signed-in user. For an API key: the user who created the key.",
      resolve: (_, _arguments, context) => callerOf(context).user,
    }),
  );
  builder.queryField("organization", (t) =>
    t.field({
      scope: null,
      narrowedKeys: true,
      type: "Organization",
      description: "The organization that the credential belongs to.",
      resolve: (_, _arguments, context) => findOrganization(context),
    }),
  );
  builder.queryField("project", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "Project",
      nullable: true,
      description: "The project with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The project's id." }) },
      resolve: (_, { id }, context) => findProject(context, id),
    }),
  );
  builder.queryField("projects", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "ProjectConnection",
      extensions: PAGED,
      description: "The organization's projects, newest first.",
      args: pageArguments(builder),
      resolve: (_, page, context) => projectsOf(context, page),
    }),
  );
}

function addCreateProject(builder: Builder): void {
  const input = builder.inputType("CreateProjectInput", {
    description: "Input of `createProject`.",
    fields: (t) => ({
      handle: t.string({
        description: `The project's handle: 1 to ${LIMITS.handleCharacters} characters of a-z, 0-9 and -, beginning and ending with a letter or digit.`,
      }),
      name: t.string({ description: `The project's name, of at most ${LIMITS.nameCharacters} characters.` }),
    }),
  });
  builder.mutationField("createProject", (t) =>
    t.field({
      scope: "agents:write",
      narrowedKeys: false,
      type: "Project",
      description: "Creates a project. CONFLICT if the organization already has one with this handle.",
      args: { input: t.arg({ type: input, description: "Input of `createProject`." }) },
      resolve: (_, { input: request }, context) => createProject(context.auth, actingOf(context), request),
    }),
  );
}

function addRename(builder: Builder): void {
  const input = builder.inputType("RenameOrganizationInput", {
    description: "Input of `renameOrganization`.",
    fields: (t) => ({
      name: t.string({ description: `The organization's new name, of at most ${LIMITS.nameCharacters} characters.` }),
    }),
  });
  builder.mutationField("renameOrganization", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "Organization",
      description: "Renames the organization.",
      args: { input: t.arg({ type: input, description: "Input of `renameOrganization`." }) },
      resolve: (_, { input: { name } }, context) => renameOrganization(context.auth, actingOf(context), name),
    }),
  );
}

/** Who asks: the user, the organization and its projects. */
import { createProject, listProjects, readProject } from "../auth/projects.ts";
import type { Organization } from "../auth/organization.ts";
import { readOrganization } from "../auth/organizations.ts";
import { readMember } from "../auth/users.ts";
import type { Project } from "../auth/project.ts";
import { decodeId, encodeId } from "../lib/ids.ts";
import { found, idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connectionOf, pageArguments, PAGED, pageRequest } from "./connection.ts";
import { callerOf, callerWith, type Context } from "./context.ts";
import type { Enums } from "./enums.ts";

export function addOrganizations(builder: Builder, enums: Enums): void {
  addOrganization(builder, enums);
  addUser(builder);
  addProject(builder);
  addConnection(builder, "Project");
  addQueries(builder);
  addCreateProject(builder);
}

function addOrganization(builder: Builder, enums: Enums): void {
  builder.objectType("Organization", {
    description: "A customer, the tenant: nothing of it is visible to another.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("organization", id), description: "A TypeID, `org_…`." }),
      name: t.exposeString("name", { description: "For people." }),
      plan: t.expose("plan", { type: enums.Plan, description: "What it may use." }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was made." }),
    }),
  });
}

async function projectsOf(context: Context, page: Parameters<typeof pageRequest>[0]) {
  const request = pageRequest(page, (cursor) => decodeId("project", cursor));
  return connectionOf(await listProjects(context.auth, callerWith(context, "agents:read"), request), ({ id }) =>
    encodeId("project", id),
  );
}

export async function findOrganization(context: Context, id = callerOf(context).organizationId): Promise<Organization> {
  const isOwn = id === callerOf(context).organizationId;
  return found("organization", isOwn ? await readOrganization(context.auth, id) : undefined);
}

function addUser(builder: Builder): void {
  builder.objectType("User", {
    description: "A person.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("user", id), description: "A TypeID, `user_…`." }),
      name: t.exposeString("name", { description: "What they are called." }),
      email: t.string({
        nullable: true,
        description: "Null of somebody who is no longer a member of the organization.",
        resolve: async ({ id }, _, context) =>
          (await readMember(context.auth, callerOf(context).organizationId, id))?.email ?? null,
      }),
      organization: t.field({
        type: "Organization",
        description: "The organization the credential belongs to.",
        resolve: (_user, _, context) => findOrganization(context),
      }),
      projects: t.field({
        type: "ProjectConnection",
        extensions: PAGED,
        description: "That organization's projects, newest first.",
        args: pageArguments(builder),
        resolve: (_user, page, context) => projectsOf(context, page),
      }),
    }),
  });
}

function addProject(builder: Builder): void {
  builder.objectType("Project", {
    description: "A folder of agents.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("project", id), description: "A TypeID, `project_…`." }),
      handle: t.exposeString("handle", { description: "The `namespace` of its agents' definitions; never changes." }),
      name: t.exposeString("name", { description: "For people." }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was made." }),
    }),
  });
}

export async function findProject(context: Context, id: string): Promise<Project> {
  return found("project", await readProject(context.auth, callerOf(context).organizationId, idOf("project", id)));
}

function addQueries(builder: Builder): void {
  builder.queryField("me", (t) =>
    t.field({
      type: "User",
      description: "Who asks; with an API key the user who made it.",
      resolve: (_, _arguments, context) => callerOf(context).user,
    }),
  );
  builder.queryField("organization", (t) =>
    t.field({
      type: "Organization",
      description: "The organization the credential belongs to.",
      resolve: (_, _arguments, context) => findOrganization(context),
    }),
  );
  builder.queryField("project", (t) =>
    t.field({
      type: "Project",
      nullable: true,
      description: "One project. NOT_FOUND when there is none of that id.",
      args: { id: t.arg.id({ description: "A TypeID, `project_…`." }) },
      resolve: (_, { id }, context) => findProject(context, id),
    }),
  );
  builder.queryField("projects", (t) =>
    t.field({
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
    description: "A new project.",
    fields: (t) => ({
      handle: t.string({ description: "1 to 63 characters of a-z, 0-9 and -." }),
      name: t.string({ description: "For people." }),
    }),
  });
  builder.mutationField("createProject", (t) =>
    t.field({
      type: "Project",
      description: "Makes a project. CONFLICT when the organization has one of that handle.",
      args: { input: t.arg({ type: input, description: "A new project." }) },
      resolve: (_, { input: request }, context) => createProject(context.auth, callerOf(context), request),
    }),
  );
}

/** Which roles there are, what they do (docs/access.md), and who gives which. */
import type { Role } from "../../api/documents.ts";

export const WHAT_ROLES_DO: Record<Role, string> = {
  owner: "Everything, including other owners",
  admin: "Everything, except changing owners",
  editor: "Agents, runs, approvals and secrets",
  runner: "Starts and cancels runs, and decides approvals",
  viewer: "Reads agents and runs",
};

const ROLES: readonly Role[] = ["owner", "admin", "editor", "runner", "viewer"];

type MayBe = Role | null;

/** Only an owner makes one. */
export const rolesToGive = (by: MayBe): readonly Role[] =>
  by === "owner" ? ROLES : ROLES.filter((role) => role !== "owner");

/** Only an owner changes one. */
export const mayChange = (by: MayBe, role: Role): boolean => by === "owner" || role !== "owner";

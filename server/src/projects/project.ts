import type { ProjectId } from "../lib/ids.ts";

/** A folder of agents. Its handle is the namespace of their definitions and never changes. */
export type Project = { id: ProjectId; handle: string; name: string; createdAt: Date };

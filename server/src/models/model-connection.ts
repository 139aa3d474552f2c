import type { ModelConnectionId, OrganizationId, ProjectId } from "../lib/ids.ts";
import type { ModelLimits, ModelPrices, ModelProvider } from "../llm/connection.ts";

/** The public part of a connection: never its key. */
export type ModelConnection = {
  id: ModelConnectionId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  /** Unique in the project; definitions name it. */
  name: string;
  provider: ModelProvider;
  /** Null: the provider's own. */
  baseUrl: string | null;
  model: string;
  hasKey: boolean;
  /** The header that the key goes in. Null: as the provider's protocol has it. */
  apiKeyHeader: string | null;
  isDefault: boolean;
  prices: ModelPrices | null;
  limits: ModelLimits | null;
  updatedAt: Date;
};

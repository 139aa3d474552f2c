/** The words that columns may hold; the migrations have them as CHECKs. */
export type Plan = "free" | "starter" | "pro" | "enterprise";
export type Role = "owner" | "admin" | "editor" | "runner" | "viewer";
export type AgentStatus = "draft" | "active" | "paused" | "archived";
export type RunStatus = "pending" | "running" | "paused" | "completed" | "failed" | "cancelled";
export type StepStatus = "pending" | "running" | "paused" | "completed" | "failed" | "skipped" | "cancelled";
export type TriggerStatus = "active" | "paused";
export type FiringOutcome = "started" | "skipped" | "refused" | "duplicate";
export type ApprovalStatus = "open" | "approved" | "rejected" | "expired" | "withdrawn";

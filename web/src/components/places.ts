import type { BadgesSubscription } from "../api/documents.ts";
import { SHAPES } from "./icon.tsx";

type Place = {
  to: string;
  word: string;
  shape: string;
  /** After `g` it leads there. */
  key: string;
  badge?: keyof BadgesSubscription["badgesChanged"];
  about?: string;
  /** The bar of a narrow screen has no place for it: the account's menu leads there. */
  isWide?: true;
};

/** Where one can go from everywhere. */
export const PLACES = [
  { to: "/agents", word: "Agents", shape: SHAPES.agents, key: "a" },
  { to: "/runs", word: "Runs", shape: SHAPES.runs, key: "r", badge: "openRuns", about: "open" },
  { to: "/approvals", word: "Approvals", shape: SHAPES.approvals, key: "p", badge: "openApprovals", about: "open" },
  { to: "/events", word: "Events", shape: SHAPES.events, key: "e" },
  { to: "/settings", word: "Settings", shape: SHAPES.settings, key: "s", isWide: true },
] as const satisfies readonly Place[];

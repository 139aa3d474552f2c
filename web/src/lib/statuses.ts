/** How a status looks, everywhere: list, waterfall, favicon and title of the tab. Always shape, word and colour together. */

export type Look = {
  word: string;
  /** A property of style.css. */
  colour: string;
  /** On a field of 16 × 16, drawn with a line of 1.75. */
  shape: string;
  /** Turns while it lasts. */
  turns?: true;
};

const CIRCLE = "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11";
const CHECK = "M3.5 8.5 6.5 11.5 12.5 4.5";
const CROSS = "M4 4 12 12M12 4 4 12";
const STRUCK = `${CIRCLE}M4.2 11.8 11.8 4.2`;

const LOOKS = {
  pending: { word: "pending", colour: "var(--pending)", shape: CIRCLE },
  running: { word: "running", colour: "var(--running)", shape: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5", turns: true },
  paused: { word: "paused", colour: "var(--paused)", shape: "M5.5 3.5V12.5M10.5 3.5V12.5" },
  completed: { word: "completed", colour: "var(--completed)", shape: CHECK },
  failed: { word: "failed", colour: "var(--failed)", shape: CROSS },
  cancelled: { word: "cancelled", colour: "var(--pending)", shape: STRUCK },
  skipped: { word: "skipped", colour: "var(--pending)", shape: "M3 4.5C3 9 6 9.5 12.5 9.5M9.5 6.5 12.5 9.5 9.5 12.5" },

  // Agents and triggers. Most are active, so it is quiet.
  active: { word: "active", colour: "var(--pending)", shape: CHECK },
  draft: { word: "draft", colour: "var(--pending)", shape: "M3 13 3.5 10.5 10.5 3.5 12.5 5.5 5.5 12.5Z" },
  archived: { word: "archived", colour: "var(--pending)", shape: "M2.5 3.5H13.5V6H2.5ZM3.5 6V12.5H12.5V6M6.5 8.5H9.5" },

  // API keys.
  revoked: { word: "revoked", colour: "var(--pending)", shape: STRUCK },

  // Approvals.
  open: { word: "open", colour: "var(--paused)", shape: "M5.5 3.5V12.5M10.5 3.5V12.5" },
  // Decided on this page and not sent yet.
  approve: { word: "approving…", colour: "var(--completed)", shape: `${CIRCLE}M5.5 8.2 7.2 9.9 10.5 6.3` },
  reject: { word: "rejecting…", colour: "var(--failed)", shape: `${CIRCLE}M6 6 10 10M10 6 6 10` },
  approved: { word: "approved", colour: "var(--completed)", shape: CHECK },
  rejected: { word: "rejected", colour: "var(--failed)", shape: CROSS },
  expired: { word: "expired", colour: "var(--pending)", shape: `${CIRCLE}M8 5V8L10 9.5` },
  withdrawn: { word: "withdrawn", colour: "var(--pending)", shape: STRUCK },

  // Firings.
  started: { word: "started", colour: "var(--completed)", shape: CHECK },
  refused: { word: "refused", colour: "var(--failed)", shape: CROSS },
  duplicate: { word: "duplicate", colour: "var(--pending)", shape: "M5.5 5.5V3H13V10.5H10.5M3 5.5H10.5V13H3Z" },
} satisfies Record<string, Look>;

/** The statuses of runs that can be cancelled. */
export const OPEN_STATUSES = ["running", "paused", "pending"] as const;

/** All of runs, those that need somebody first. */
export const RUN_STATUSES = [...OPEN_STATUSES, "completed", "failed", "cancelled"] as const;

export type Status = keyof typeof LOOKS;

export const lookOf = (status: Status): Look => LOOKS[status];

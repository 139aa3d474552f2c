/** A run's questions to people: the open ones, and those that were decided before. */
import { useState } from "react";
import type { ApprovalCardFragment, RunPageQuery } from "../../api/documents.ts";

type Questions = {
  /** Oldest first. One that was open here stays where it was read, and says there who decided. */
  asked: readonly ApprovalCardFragment[];
  others: readonly ApprovalCardFragment[];
  /** There are more than were read. */
  hasMoreAsked: boolean;
  hasMoreOthers: boolean;
};

export function useQuestions({ approvals: open, run }: RunPageQuery): Questions {
  const newest = run!.approvals;
  const [seenOpen, setSeenOpen] = useState<ReadonlySet<string>>(new Set());
  const all = [...new Map([...newest.nodes, ...(open?.nodes ?? [])].map((one) => [one.id, one])).values()];
  const opened = (open?.nodes ?? []).filter(({ id, status }) => status === "open" && !seenOpen.has(id));
  if (opened.length > 0) setSeenOpen(new Set([...seenOpen, ...opened.map(({ id }) => id)]));
  return {
    asked: all.filter(({ id }) => seenOpen.has(id)).toSorted((a, b) => a.stepNumber - b.stepNumber),
    others: all.filter(({ id, status }) => !seenOpen.has(id) && status !== "open"),
    hasMoreAsked: open?.pageInfo.hasNextPage ?? false,
    hasMoreOthers: newest.pageInfo.hasNextPage,
  };
}

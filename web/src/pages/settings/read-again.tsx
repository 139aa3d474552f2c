/**
 * Data that others may have changed without notice: it is read again when one comes back to the page, when the connection is
 * back, and by hand. Its button says from when it is.
 */
import { useEffect, useEffectEvent, useState } from "react";
import { Button, Tooltip } from "@mantine/core";
import type { UseQueryState } from "urql";
import { useApi } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { Icon, SHAPES } from "../../components/icon.tsx";
import { clockText } from "../../lib/times.ts";
import classes from "./settings.module.css";
import type { Caller } from "./use-caller.ts";

/** Somebody comes back to a page by two events at once: one look serves both. */
const TOGETHER_MS = 50;

type Props = {
  asked: Pick<UseQueryState, "data" | "fetching" | "stale" | "error">;
  /** A notice that says so says what to do next, too; it is read again all the same. */
  isEmpty?: boolean;
  readAgain: () => void;
  caller: Caller;
};

export function ReadAgain({ asked: { data, fetching, stale, error }, isEmpty = false, readAgain, caller }: Props) {
  const { connection } = useApi();
  const isReading = fetching || stale;
  const looked = useEffectEvent(() => {
    if (document.visibilityState === "visible") readAgain();
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onLook = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        looked();
      }, TOGETHER_MS);
    };
    let { lostAt } = connection.get();
    // Not when it is first opened: what is shown was read a moment ago.
    const stop = connection.watch(() => {
      const wasLost = lostAt !== undefined;
      ({ lostAt } = connection.get());
      if (wasLost && lostAt === undefined) onLook();
    });
    document.addEventListener("visibilitychange", onLook);
    window.addEventListener("focus", onLook);
    return () => {
      clearTimeout(timer);
      stop();
      document.removeEventListener("visibilitychange", onLook);
      window.removeEventListener("focus", onLook);
    };
  }, [connection]);
  // Somebody has changed what the caller may do.
  const refused = useEffectEvent(caller.readAgain);
  useEffect(() => {
    if (error && refusalIn(error).code === "FORBIDDEN") refused();
  }, [error]);

  // Below what is not there yet it would have to move.
  if (data === undefined || isEmpty) return null;
  return <Reload key={isReading ? "reading" : "read"} isReading={isReading} onReload={readAgain} />;
}

/** Another one for each answer, so that it is of the time when that came. */
function Reload({ isReading, onReload }: { isReading: boolean; onReload: () => void }) {
  const [readAt] = useState(() => Date.now());
  return (
    <Tooltip label={`Read at ${clockText(readAt)}`}>
      <Button
        variant="subtle"
        size="compact-sm"
        className={classes["again"]}
        leftSection={<Icon shape={SHAPES.retry} size={12} />}
        loading={isReading}
        onClick={onReload}
      >
        Reload
      </Button>
    </Tooltip>
  );
}

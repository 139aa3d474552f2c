import { Button } from "@mantine/core";
import { MOST_FRESH } from "./use-fresh.ts";
import classes from "./show-new.module.css";

/** What came meanwhile waits here: a list moves no row under the pointer. */
export const ShowNew = ({ count, onShow }: { count: number; onShow: () => void }) => (
  <div className={classes["place"]} aria-live="polite">
    {count > 0 && (
      <Button size="compact-sm" radius="xl" onClick={onShow}>
        Show {count < MOST_FRESH ? count : `${MOST_FRESH.toLocaleString()}+`} new
      </Button>
    )}
  </div>
);

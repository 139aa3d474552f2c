import { Skeleton } from "@mantine/core";
import classes from "./loading.module.css";

/** Lines as high as those that come. `label`: as in "Loading the runs". */
export const Loading = ({ label, lines = 8 }: { label: string; lines?: number }) => (
  <div role="status" aria-busy="true" aria-label={label}>
    {Array.from({ length: lines }, (_, index) => (
      <div key={index} className={classes["line"]}>
        <Skeleton height={10} width={WIDTHS[index % WIDTHS.length]} radius="xl" />
        <Skeleton height={10} width={64} radius="xl" />
      </div>
    ))}
  </div>
);

const WIDTHS = ["38%", "46%", "31%", "42%", "35%"];

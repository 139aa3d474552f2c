import { Button } from "@mantine/core";
import { Refusal } from "../api/refusal.ts";
import { Problem } from "./notice.tsx";
import { PageHead } from "./page-head.tsx";

export const reload = <Button onClick={() => location.reload()}>Try again</Button>;

export const problemOf = (error: unknown): Refusal =>
  error instanceof Refusal
    ? error
    : new Refusal(`This page has failed, or a newer version has been installed (${String(error)}).`);

/** In the place of a page that failed: the frame stays, and leads elsewhere. */
export const PageError = ({ error }: { error: unknown }) => (
  <div className="stack">
    <PageHead title="This page cannot be shown" />
    <Problem refusal={problemOf(error)} action={reload} />
  </div>
);

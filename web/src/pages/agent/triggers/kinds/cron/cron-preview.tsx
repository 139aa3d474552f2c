import { useQuery } from "urql";
import { CronPreviewDocument } from "../../../../../api/documents.ts";
import { refusalIn } from "../../../../../api/refusal.ts";
import { useLater } from "../../../../../lib/use-later.ts";
import { CronInstants } from "./cron-instants.tsx";
import { cronWords } from "./cron-words.ts";
import classes from "./cron.module.css";

const ASKED_AFTER_MS = 250;

type Props = {
  schedule: string;
  timezone: string;
  /** A field says what is wrong already. */
  isRefused: boolean;
};

/** In words, and when it comes; what is wrong with it while it is typed. */
export function CronPreview({ schedule, timezone, isRefused }: Props) {
  const asked = useLater({ schedule, timezone }, ASKED_AFTER_MS);
  const [{ data, error }] = useQuery({ query: CronPreviewDocument, variables: asked });
  return (
    <div className={classes["preview"]} aria-live="polite">
      {error ? (
        !isRefused && (
          <p className={classes["wrong"]}>{refusalIn(error).fields[0]?.message ?? refusalIn(error).message}</p>
        )
      ) : (
        <>
          <p>
            {cronWords(asked.schedule)}, {asked.timezone}
          </p>
          {data?.cronPreview && <CronInstants instants={data.cronPreview} timezone={asked.timezone} />}
        </>
      )}
    </div>
  );
}

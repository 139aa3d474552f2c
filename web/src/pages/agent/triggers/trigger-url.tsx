import { useState } from "react";
import { Button } from "@mantine/core";
import type { TriggerPartFragment } from "../../../api/documents.ts";
import { CopyButton } from "../../../components/copy-button.tsx";
import { minuteText } from "../../../lib/times.ts";
import classes from "./triggers-tab.module.css";

type Urls = Pick<TriggerPartFragment, "url" | "curl" | "formerUrlUntil">;

/**
 * Anyone with the URL can call it, so its token is hidden until somebody asks for it. The API masks it for those who may not know it.
 * `curl` is null if calls must be signed.
 */
export function TriggerUrl({ url, curl, formerUrlUntil }: Urls & { url: string }) {
  const [isShown, setIsShown] = useState(false);
  const at = url.lastIndexOf("/") + 1;
  const isKnown = /^[\w-]+$/.test(url.slice(at));
  return (
    <div className={classes["url"]}>
      <code>{isShown || !isKnown ? url : `${url.slice(0, at)}••••••••`}</code>
      <span className="line">
        {isKnown && (
          <Button variant="default" size="compact-sm" aria-pressed={isShown} onClick={() => setIsShown(!isShown)}>
            {isShown ? "Hide the token" : "Show the token"}
          </Button>
        )}
        <CopyButton label="Copy the URL" text={url} />
        {curl !== null && <CopyButton label="Copy as curl" text={curl} />}
      </span>
      {formerUrlUntil && <FormerUrl until={formerUrlUntil} />}
    </div>
  );
}

/** The whole URL, shown once to the user who made it, so that they can give it to the caller. */
export function NewUrl({ trigger, onDone }: { trigger: Urls & { name: string }; onDone: () => void }) {
  const { name, url, curl, formerUrlUntil } = trigger;
  return (
    <section className={classes["made"]} aria-label={`The new URL of ${name}`}>
      <p role="status">
        <strong>The new URL.</strong> Anyone with it can call it: keep it like a password, and give it to everyone who
        calls the old one.
      </p>
      <pre className={classes["curl"]}>{url}</pre>
      {formerUrlUntil && <FormerUrl until={formerUrlUntil} />}
      <span className="line">
        <CopyButton label="Copy the URL" text={url ?? ""} />
        {curl !== null && <CopyButton label="Copy as curl" text={curl} />}
        <Button size="compact-sm" onClick={onDone}>
          Done
        </Button>
      </span>
    </section>
  );
}

const FormerUrl = ({ until }: { until: string }) => (
  <p>
    The old URL works until <time dateTime={until}>{minuteText(Date.parse(until))}</time>, then its calls are refused.
  </p>
);

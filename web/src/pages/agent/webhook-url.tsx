import { useState } from "react";
import { Button } from "@mantine/core";
import { CopyButton } from "../../components/copy-button.tsx";
import classes from "./triggers-tab.module.css";

/**
 * Whoever has the URL may call it: its token is shown when it is asked for. A masked one is of somebody who may not know it. `curl` is
 * null where calls must be signed.
 */
export function WebhookUrl({ url, curl }: { url: string; curl: string | null }) {
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
    </div>
  );
}

/** What is done to a trigger now and then: changed, paused, given another URL, deleted. */
import { useState } from "react";
import { ActionIcon, Menu } from "@mantine/core";
import { DeleteTriggerDocument, RotateWebhookTokenDocument, type TriggerPartFragment } from "../../../api/documents.ts";
import { useMutate } from "../../../api/hooks.ts";
import { Confirm } from "../../../components/confirm.tsx";
import { Icon, SHAPES } from "../../../components/icon.tsx";
import { KINDS } from "./kinds.ts";

type Props = {
  trigger: TriggerPartFragment;
  isBusy: boolean;
  onEdit: () => void;
  onSetStatus: () => void;
  onNewUrl: () => void;
  onDeleted: () => void;
};

/** How long a former URL of a webhook stays good. */
const OVERLAP_MINUTES = 60;

export function TriggerMenu({ trigger, isBusy, onEdit, onSetStatus, onNewUrl, onDeleted }: Props) {
  const { id: triggerId, name, type, status, isManaged } = trigger;
  const { hasUrl } = KINDS[type];
  const mutate = useMutate();
  const [asked, setAsked] = useState<"url" | "delete">();
  const close = (): void => setAsked(undefined);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={26} loading={isBusy} aria-label={`More for ${name}`}>
            <Icon shape={SHAPES.more} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!isManaged && <Menu.Item onClick={onEdit}>Change</Menu.Item>}
          <Menu.Item onClick={onSetStatus}>{status === "paused" ? "Resume" : "Pause"}</Menu.Item>
          {hasUrl && <Menu.Item onClick={() => setAsked("url")}>New URL…</Menu.Item>}
          {!isManaged && (
            <Menu.Item color="red" onClick={() => setAsked("delete")}>
              Delete…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {asked === "url" && (
        <Confirm
          title={`A new URL for ${name}`}
          verb="Make a new URL"
          act={async () => {
            await mutate(RotateWebhookTokenDocument, { input: { triggerId, overlapMinutes: OVERLAP_MINUTES } });
            onNewUrl();
          }}
          onClose={close}
        >
          <p>
            The old URL works for {OVERLAP_MINUTES} more minutes. Give the new one to whoever calls it by then: later
            calls of the old one are refused.
          </p>
        </Confirm>
      )}
      {asked === "delete" && (
        <Confirm
          title={`Delete ${name}?`}
          verb={`Delete ${name}`}
          typed={name}
          act={async () => {
            await mutate(DeleteTriggerDocument, { input: { triggerId } });
            onDeleted();
          }}
          onClose={close}
        >
          <p>
            It starts nothing any more; runs that it started go on. It cannot be brought back
            {hasUrl && ", and neither can its URL"}.
          </p>
        </Confirm>
      )}
    </>
  );
}

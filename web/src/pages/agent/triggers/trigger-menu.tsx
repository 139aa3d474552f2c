/** The rarer commands for a trigger: change, pause, another URL, delete. */
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

/** How long the former URL of a webhook keeps working. */
const OVERLAP_MINUTES = 60;

export function TriggerMenu({ trigger, isBusy, onEdit, onSetStatus, onNewUrl, onDeleted }: Props) {
  const { name, type, status, isManaged } = trigger;
  const { hasUrl } = KINDS[type];
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
      {asked === "url" && <ReplaceUrl trigger={trigger} onDone={onNewUrl} onClose={close} />}
      {asked === "delete" && <DeleteTrigger trigger={trigger} onDone={onDeleted} onClose={close} />}
    </>
  );
}

type AskedProps = { trigger: TriggerPartFragment; onDone: () => void; onClose: () => void };

function ReplaceUrl({ trigger: { id: triggerId, name }, onDone, onClose }: AskedProps) {
  const mutate = useMutate();
  const replace = async (): Promise<void> => {
    await mutate(RotateWebhookTokenDocument, { input: { triggerId, overlapMinutes: OVERLAP_MINUTES } });
    onDone();
  };
  return (
    <Confirm title={`A new URL for ${name}`} verb="Make a new URL" act={replace} onClose={onClose}>
      <p>
        The old URL works for {OVERLAP_MINUTES} more minutes. Give the new one to its callers before then: later calls
        to the old one are refused.
      </p>
    </Confirm>
  );
}

function DeleteTrigger({ trigger: { id: triggerId, name, type }, onDone, onClose }: AskedProps) {
  const mutate = useMutate();
  const deleteIt = async (): Promise<void> => {
    await mutate(DeleteTriggerDocument, { input: { triggerId } });
    onDone();
  };
  return (
    <Confirm title={`Delete ${name}?`} verb={`Delete ${name}`} typed={name} act={deleteIt} onClose={onClose}>
      <p>
        It starts no more runs; those that it started go on. It cannot be restored
        {KINDS[type].hasUrl && ", and neither can its URL"}.
      </p>
    </Confirm>
  );
}

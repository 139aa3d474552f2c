import { useState } from "react";
import { Modal } from "@mantine/core";
import type { Refusal } from "../../api/refusal.ts";
import { Problem } from "../notice.tsx";

/** What a menu's item could not do: the menu is gone by then. */
export function Told({ title, refusal }: { title: string; refusal: Refusal | undefined }) {
  const [seen, setSeen] = useState<Refusal>();
  return (
    <Modal
      opened={refusal !== undefined && refusal !== seen}
      onClose={() => setSeen(refusal)}
      title={title}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {refusal && <Problem refusal={refusal} />}
    </Modal>
  );
}

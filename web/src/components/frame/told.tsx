import { useState } from "react";
import { Modal } from "@mantine/core";
import type { Refusal } from "../../api/refusal.ts";
import { Problem } from "../notice.tsx";

/** The failure of a menu's item: the menu is gone then. */
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

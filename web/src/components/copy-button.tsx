import { useRef, useState } from "react";
import { ActionIcon, Button } from "@mantine/core";
import { Icon, SHAPES } from "./icon.tsx";
import classes from "./copy-button.module.css";

const SHOWN_MS = 1_500;

type Props = {
  text: string;
  /** The thing that is copied, as in "Copy the link". */
  label: string;
  /** Only "Copy" is shown. */
  isBare?: boolean;
  /** Only its icon is shown, within a line of text. */
  isIcon?: boolean;
  /** Shown in place of the label, of which it is a part. */
  word?: string;
  size?: "compact-sm" | "compact-md" | "sm";
  /** On a narrow screen only its icon is shown. */
  isIconWhenNarrow?: boolean;
};

export function CopyButton({
  text,
  label,
  isBare = false,
  isIcon = false,
  word = isBare ? "Copy" : label,
  size = "compact-sm",
  isIconWhenNarrow = false,
}: Props) {
  const [said, setSaid] = useState<"Copied" | "Press Ctrl+C">();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const copy = async (): Promise<void> => {
    const isDone = await copied(text);
    if (!isDone) selectIn(text);
    setSaid(isDone ? "Copied" : "Press Ctrl+C");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSaid(undefined), SHOWN_MS);
  };
  const icon = <Icon shape={said === "Copied" ? SHAPES.check : SHAPES.copy} size={14} />;
  if (isIcon)
    return (
      <ActionIcon variant="subtle" color="gray" size={24} aria-label={label} onClick={() => void copy()}>
        {icon}
        <span className="visually-hidden" aria-live="polite">
          {said}
        </span>
      </ActionIcon>
    );
  return (
    <Button
      variant="default"
      size={size}
      leftSection={icon}
      onClick={() => void copy()}
      aria-label={label}
      className={isIconWhenNarrow ? classes["narrow"] : undefined}
    >
      <span aria-live="polite">{said ?? word}</span>
    </Button>
  );
}

/** Browsers have no clipboard on plain http but for loopback; there the deprecated command still works in most. */
async function copied(text: string): Promise<boolean> {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const copy = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", copy);
  try {
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", copy);
  }
}

/** So that the person's own key copies it. */
function selectIn(text: string): void {
  const place = [...document.querySelectorAll("code, pre, input")].find(
    (one) => (one instanceof HTMLInputElement ? one.value : one.textContent) === text,
  );
  if (place instanceof HTMLInputElement) place.select();
  else if (place) getSelection()?.selectAllChildren(place);
}

/** A drawing of lines on a field of 16 × 16, in the colour of the text. Says nothing to screen readers: words stand beside it. */
export function Icon({
  shape,
  size = 16,
  className,
}: {
  shape: string;
  size?: number;
  className?: string | undefined;
}) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={className}
    >
      <path d={shape} />
    </svg>
  );
}

export const SHAPES = {
  agents: "M3 3H7V7H3ZM9 3H13V7H9ZM3 9H7V13H3ZM9 9H13V13H9Z",
  runs: "M3 4H10M3 8H13M3 12H7",
  approvals: "M3 8.5 6 11.5 13 4.5",
  events: "M9 1.5 3.5 9H8L7 14.5 12.5 7H8Z",
  settings:
    "M3 5H8M11 5H13M3 11H5M8 11H13M9.5 3.5A1.5 1.5 0 1 1 9.5 6.5A1.5 1.5 0 1 1 9.5 3.5M6.5 9.5A1.5 1.5 0 1 1 6.5 12.5A1.5 1.5 0 1 1 6.5 9.5",
  copy: "M5.5 5.5V3H13V10.5H10.5M3 5.5H10.5V13H3Z",
  check: "M3.5 8.5 6.5 11.5 12.5 4.5",
  play: "M5 3.5 12 8 5 12.5Z",
  chevron: "M4.5 6.5 8 10 11.5 6.5",
  chevronRight: "M6.5 4.5 10 8 6.5 11.5",
  search: "M7 2.5A4.5 4.5 0 1 1 7 11.5A4.5 4.5 0 1 1 7 2.5M10.5 10.5 13.5 13.5",
  more: "M3.5 8H3.51M8 8H8.01M12.5 8H12.51",
  retry: "M13 8A5 5 0 1 1 11.5 4.5L13 6M13 2.5V6H9.5",
  cron: "M8 2.5A5.5 5.5 0 1 1 8 13.5A5.5 5.5 0 1 1 8 2.5M8 5V8L10 9.5",
  webhook: "M6.5 9.5 9.5 6.5M7.5 4.5 9 3A2.8 2.8 0 0 1 13 7L11.5 8.5M8.5 11.5 7 13A2.8 2.8 0 0 1 3 9L4.5 7.5",
  close: "M4 4 12 12M12 4 4 12",
  filter: "M2.5 4.5H13.5M4.5 8H11.5M6.5 11.5H9.5",
} as const;

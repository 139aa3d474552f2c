const count = new Intl.NumberFormat();

/** `1,234` as the reader writes it. */
export const countText = (value: number): string => count.format(value);

/** Mantine's parts in our colours: every one of its own greys, blues and radii is replaced. */
import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

const accent: MantineColorsTuple = [
  "#eef1fd",
  "#dbe1fa",
  "#b9c6f5",
  "#9db2ff",
  "#7e96f4",
  "#5d79ea",
  "#3f5ddb",
  "#2747c7",
  "#1f3aa6",
  "#182d82",
];

const red: MantineColorsTuple = [
  "#fdf0ee",
  "#fbdcd8",
  "#f6bab3",
  "#ff9c92",
  "#e8685c",
  "#d8463a",
  "#c4332a",
  "#b3261e",
  "#921d17",
  "#721611",
];

/** From the text to the ground of the dark theme. */
const dark: MantineColorsTuple = [
  "#e8eaef",
  "#c9ced8",
  "#9aa3b2",
  "#7b8494",
  "#39404d",
  "#272c36",
  "#171a21",
  "#101216",
  "#0c0e12",
  "#08090c",
];

export const theme = createTheme({
  colors: { accent, red, dark },
  primaryColor: "accent",
  primaryShade: { light: 7, dark: 6 },
  defaultRadius: 6,
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily: 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
  fontFamilyMonospace: "var(--mono)",
  fontSizes: { xs: "12px", sm: "14px", md: "14px" },
  lineHeights: { sm: "20px", md: "20px" },
  components: {
    Button: { defaultProps: { size: "sm" } },
    TextInput: { defaultProps: { size: "sm" } },
    PasswordInput: { defaultProps: { size: "sm" } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
    // Its placeholder is no part that a menu may have; without it the first item has the focus.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.4 } } },
  },
});

/** Ours in the places of Mantine's. */
const OURS = {
  "--mantine-color-body": "var(--page)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-dimmed": "var(--dim)",
  "--mantine-color-placeholder": "var(--dim)",
  "--mantine-color-default": "var(--page)",
  "--mantine-color-default-hover": "var(--hover)",
  "--mantine-color-default-color": "var(--text)",
  "--mantine-color-default-border": "var(--line)",
  "--mantine-color-error": "var(--failed)",
  "--mantine-color-anchor": "var(--accent)",
};

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: { ...OURS, "--input-bd": "var(--edge)" },
  dark: { ...OURS },
});

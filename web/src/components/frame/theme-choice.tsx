import { Menu, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";

const THEMES: readonly { value: MantineColorScheme; word: string }[] = [
  { value: "auto", word: "System" },
  { value: "light", word: "Light" },
  { value: "dark", word: "Dark" },
];

/** Light, dark, or what the system says; this browser remembers it. */
export function Theme() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Menu.Label>Theme</Menu.Label>
      <Menu.RadioGroup value={colorScheme} onChange={(value) => setColorScheme(value as MantineColorScheme)}>
        {THEMES.map(({ value, word }) => (
          <Menu.RadioItem key={value} value={value}>
            {word}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
    </>
  );
}

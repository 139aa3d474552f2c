import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { MantineProvider } from "@mantine/core";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
// Only the styles of parts that are used: all of them are 16 kB more. Their order is Mantine's own.
import "@mantine/core/styles/baseline.css";
import "@mantine/core/styles/default-css-variables.css";
import "@mantine/core/styles/global.css";
import "@mantine/core/styles/ScrollArea.css";
import "@mantine/core/styles/UnstyledButton.css";
import "@mantine/core/styles/VisuallyHidden.css";
import "@mantine/core/styles/Paper.css";
import "@mantine/core/styles/Overlay.css";
import "@mantine/core/styles/Popover.css";
import "@mantine/core/styles/Loader.css";
import "@mantine/core/styles/ActionIcon.css";
import "@mantine/core/styles/CloseButton.css";
import "@mantine/core/styles/ModalBase.css";
import "@mantine/core/styles/Input.css";
import "@mantine/core/styles/FloatingIndicator.css";
import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/InlineInput.css";
import "@mantine/core/styles/CheckboxCard.css";
import "@mantine/core/styles/CheckboxIndicator.css";
import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/Button.css";
import "@mantine/core/styles/Kbd.css";
import "@mantine/core/styles/Menu.css";
import "@mantine/core/styles/Modal.css";
import "@mantine/core/styles/Pill.css";
import "@mantine/core/styles/PillsInput.css";
import "@mantine/core/styles/NumberInput.css";
import "@mantine/core/styles/PasswordInput.css";
import "@mantine/core/styles/RadioCard.css";
import "@mantine/core/styles/RadioIndicator.css";
import "@mantine/core/styles/Radio.css";
import "@mantine/core/styles/SegmentedControl.css";
import "@mantine/core/styles/Skeleton.css";
import "@mantine/core/styles/Switch.css";
import "@mantine/core/styles/Tooltip.css";
import { SessionContext } from "./api/hooks.ts";
import { Session } from "./api/session.ts";
import { reloadForNewFiles } from "./lib/new-files.ts";
import { pageNonce } from "./lib/nonce.ts";
import { guardSecondClicks } from "./lib/second-clicks.ts";
import { createUiRouter } from "./router.ts";
import "./style.css";
import { cssVariables, theme } from "./theme.ts";

const nonce = pageNonce();
const session = new Session();

reloadForNewFiles();
guardSecondClicks();
setNonce(nonce);
createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <SessionContext value={session}>
        <RouterProvider router={createUiRouter(session)} />
      </SessionContext>
    </MantineProvider>
  </StrictMode>,
);

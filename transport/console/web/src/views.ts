import type { FunctionComponent } from "preact";
import { may } from "./session";
import type { Key } from "./strings";
import type { icons } from "./ui";

/** A view that is loaded when it is first opened. */
export interface View {
  icon: keyof typeof icons;
  /** Whether it stands in the bar itself; the others are in its menu. */
  first?: boolean;
  /** Reached from elsewhere than the navigation. */
  unlisted?: boolean;
  /** Shown to administrators only. */
  admin?: boolean;
  load: () => Promise<{ default: FunctionComponent }>;
}

/** The views beside those that every page has, in the order of the menu; each has a text of its name. */
export const views: Partial<Record<Key, View>> = {
  shells: { icon: "shells", first: true, load: () => import("./views/shells") },
  devices: { icon: "devices", first: true, load: () => import("./views/devices") },
  predictions: { icon: "predictions", first: true, load: () => import("./views/predictions") },
  alerts: { icon: "alerts", load: () => import("./views/alerts") },
  rules: { icon: "rules", load: () => import("./views/rules") },
  drivers: { icon: "drivers", load: () => import("./views/drivers") },
  configuration: { icon: "configuration", load: () => import("./views/configuration") },
  bridges: { icon: "bridges", load: () => import("./views/bridges") },
  engines: { icon: "engines", load: () => import("./views/engines") },
  audit: { icon: "audit", admin: true, load: () => import("./views/audit") },
  users: { icon: "users", admin: true, load: () => import("./views/users") },
  account: { icon: "users", unlisted: true, load: () => import("./views/account") },
};

/** Whether the user may open a view. */
export const allowed = (v: View): boolean => !v.admin || may("Admin");

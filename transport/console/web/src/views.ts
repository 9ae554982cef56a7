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
  load: () => Promise<FunctionComponent>;
}

const plant = () => import("./views/plant");
const engineering = () => import("./views/engineering");
const administration = () => import("./views/administration");

/** The views beside those that every page has, in the order of the menu; each has a text of its name. */
export const views: Partial<Record<Key, View>> = {
  shells: { icon: "shells", first: true, load: async () => (await plant()).Shells },
  devices: { icon: "devices", first: true, load: async () => (await plant()).Devices },
  predictions: { icon: "predictions", first: true, load: async () => (await plant()).Predictions },
  alerts: { icon: "alerts", load: async () => (await engineering()).Alerts },
  rules: { icon: "rules", load: async () => (await engineering()).Rules },
  drivers: { icon: "drivers", load: async () => (await engineering()).Drivers },
  configuration: { icon: "configuration", load: async () => (await engineering()).Configuration },
  bridges: { icon: "bridges", load: async () => (await engineering()).Bridges },
  engines: { icon: "engines", load: async () => (await administration()).Engines },
  audit: { icon: "audit", admin: true, load: async () => (await administration()).Audit },
  users: { icon: "users", admin: true, load: async () => (await administration()).Users },
  account: { icon: "users", unlisted: true, load: async () => (await administration()).Account },
};

/** Whether the user may open a view. */
export const allowed = (v: View): boolean => !v.admin || may("Admin");

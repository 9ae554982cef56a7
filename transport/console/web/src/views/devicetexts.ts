import { texts } from "../strings";
import type en from "./devices.en.json";

/** The texts of the view of devices. */
export const t = texts<keyof typeof en>();

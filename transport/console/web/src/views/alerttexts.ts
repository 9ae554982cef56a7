import { texts } from "../strings";
import type en from "./alerts.en.json";

/** The texts of the view of alerts. */
export const t = texts<keyof typeof en>();

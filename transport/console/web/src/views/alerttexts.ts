import { texts } from "../strings";
import en from "./alerts.en.json";
import ko from "./alerts.ko.json";

/** The texts of the view of alerts. */
export const t = texts(en, ko);

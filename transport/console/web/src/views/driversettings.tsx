import { language, texts, word } from "../strings";
import type en from "./drivers.en.json";
import type { DriverType } from "./drivers";
import types from "./drivertypes.json";

const t = texts<keyof typeof en>();

/** What the form reads of a JSON Schema. */
interface Schema {
  type?: string;
  enum?: unknown[];
  default?: unknown;
  description?: string;
  writeOnly?: boolean;
  minimum?: number;
  maximum?: number;
  examples?: unknown[];
  "x-unit"?: string;
  properties?: Record<string, Schema>;
  required?: string[];
}

/** The name and the description of a member of a type, of the type itself with no name, in other languages than English, which the types speak. */
const translations: Record<string, Record<string, Record<string, string[]>>> = types;

/** The name of a member in the language of the console, if it has one. */
const titleOf = (type: DriverType, name: string): string | undefined => translations[language.value]?.[type.name]?.[name]?.[0];
/** The description of a member of a type, or of the type itself with no name. */
export const aboutOf = (type: DriverType, name = ""): string | undefined =>
  translations[language.value]?.[type.name]?.[name]?.[1] ?? (name ? schemaOf(type).properties?.[name]?.description : type.description);

/** Settings as they are typed, by the name of the member; empty for the default. */
export type Texts = Record<string, string>;

const schemaOf = (type: DriverType): Schema => type.settingsSchema as Schema;
const plain = (s: Schema) => s.type === "string" || s.type === "integer" || s.type === "number" || s.type === "boolean";

/** The members of a type: those that must be given first, then the others in the order of the schema, which has what matters most first. */
function members(type: DriverType): [string, Schema, boolean][] {
  const schema = schemaOf(type), required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a))).map(([name, s]) => [name, s, required.has(name)]);
}

/** The texts of settings, whose members may be written in any letter case. */
export function textsOf(type: DriverType, settings: Record<string, unknown>): Texts {
  const byName = new Map(Object.entries(settings).map(([k, v]) => [k.toLowerCase(), v]));
  const found: Texts = {};
  for (const [name, s] of members(type)) {
    const v = byName.get(name.toLowerCase());
    if (v !== undefined && v !== null) found[name] = plain(s) ? String(v) : JSON.stringify(v, null, 1);
  }
  return found;
}

/** The settings that the texts stand for. It throws an error that names the member which is no JSON. */
export function settingsOf(type: DriverType, typed: Texts): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const [name, s] of members(type)) {
    const text = typed[name]?.trim() ?? "";
    if (text === "") continue;
    if (s.type === "string") settings[name] = text;
    else if (s.type === "boolean") settings[name] = text === "true";
    else if (s.type === "integer" || s.type === "number") settings[name] = Number(text);
    else {
      try {
        settings[name] = JSON.parse(text);
      } catch (err) {
        throw new Error(t("drivers.noJSON", { name, why: (err as Error).message }));
      }
    }
  }
  return settings;
}

function Member({ type, name, s, required, text, onText }: { type: DriverType; name: string; s: Schema; required: boolean; text: string; onText: (text: string) => void }) {
  const unit = s["x-unit"] ? ` (${word("unit", s["x-unit"])})` : "";
  const title = titleOf(type, name), about = aboutOf(type, name);
  const preset = s.default === undefined ? "" : t("drivers.default", { value: String(s.default) });
  const choices = s.type === "boolean" ? ["true", "false"] : s.type === "string" && s.enum ? s.enum.map(String) : undefined;
  const id = `setting-${name}`;
  const common = { id, required, "aria-describedby": about ? `${id}-about` : undefined };
  const put = (e: { currentTarget: { value: string } }) => onText(e.currentTarget.value);
  return (
    <div class={plain(s) ? "" : "long"}>
      <label for={id}>{title ? <span>{title}{unit} <code>{name}</code></span> : <>{name}{unit}</>}</label>
      {choices ? (
        <select {...common} value={text} onChange={put}><option value="">{preset || t("drivers.notSet")}</option>{choices.map((c) => <option key={c} value={c}>{c}</option>)}</select>
      ) : !plain(s) ? (
        <textarea {...common} rows={4} value={text} placeholder={t("drivers.json")} spellcheck={false} onInput={put} />
      ) : s.type === "string" ? (
        <input {...common} type={s.writeOnly ? "password" : "text"} value={text} placeholder={preset || String(s.examples?.[0] ?? "")} autocapitalize="none" spellcheck={false} autocomplete={s.writeOnly ? "new-password" : "off"} onInput={put} />
      ) : (
        <input {...common} type="number" step={s.type === "integer" ? 1 : "any"} min={s.minimum} max={s.maximum} value={text} placeholder={preset} onInput={put} />
      )}
      {about && <small id={`${id}-about`}>{about}</small>}
    </div>
  );
}

/** The settings of a type of driver, as its schema has them. */
export function Settings({ type, typed, onChange }: { type: DriverType; typed: Texts; onChange: (typed: Texts) => void }) {
  const list = members(type);
  if (list.length === 0) return null;
  return (
    <fieldset>
      <legend>{t("drivers.settings", { type: type.title })}</legend>
      {list.map(([name, s, required]) => <Member key={name} type={type} name={name} s={s} required={required} text={typed[name] ?? ""} onText={(text) => onChange({ ...typed, [name]: text })} />)}
    </fieldset>
  );
}

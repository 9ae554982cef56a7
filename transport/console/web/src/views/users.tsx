import { useEffect, useState } from "preact/hooks";
import { del, get, getTagged, post, problemText, put } from "../api";
import type { components } from "../api.gen";
import { count, when } from "../format";
import { href, route } from "../route";
import { session } from "../session";
import { texts, word } from "../strings";
import { Dialog, notify } from "../ui";
import { SessionTable } from "./sessions";
import type en from "./users.en.json";

const t = texts<keyof typeof en>();
type User = components["schemas"]["User"];
type Role = components["schemas"]["Role"];

const path = "/api/v1/users";
const of = (name: string) => `${path}/${encodeURIComponent(name)}`;
const roles: Role[] = ["Viewer", "Operator", "Admin"];

/** Adds an account, or changes one as it was when the dialog was opened. */
function UserDialog({ user, etag, onClose, onDone }: { user?: User; etag?: string; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState(user?.username ?? "");
  const [role, setRole] = useState<Role>(user?.roles[0] ?? "Viewer");
  const [enabled, setEnabled] = useState(user?.enabled ?? true);
  const [password, setPassword] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      if (user) await put(of(user.username), { roles: [role], enabled, ...(password ? { password } : {}) }, etag);
      else await post(path, { username: name.trim(), password, roles: [role], enabled });
      notify(t(user ? "users.changed" : "users.added", { name: name.trim() }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={user ? t("users.change", { name: user.username }) : t("users.add")} onClose={onClose}>
      <form method="dialog" autocomplete="off" onSubmit={(e) => void submit(e)}>
        {!user && <label>{t("username")}<input value={name} required maxLength={64} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => setName(e.currentTarget.value)} /></label>}
        <label>{t("users.role")}
          <select value={role} onChange={(e) => setRole(e.currentTarget.value as Role)}>{roles.map((r) => <option key={r} value={r}>{word("role", r)}</option>)}</select>
        </label>
        <p class="quiet">{word("role.about", role)}</p>
        <label>{user ? t("users.newPassword") : t("password")}<input type="password" value={password} required={!user} autocomplete="new-password" onInput={(e) => setPassword(e.currentTarget.value)} /></label>
        <label class="choice"><span>{t("users.mayLogIn")}</span><input type="checkbox" checked={enabled} onChange={(e) => setEnabled(e.currentTarget.checked)} /></label>
        {user && <p class="quiet">{t("users.sessionsEnd")}</p>}
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={busy}>{t("save")}</button></footer>
      </form>
    </Dialog>
  );
}

function RemoveDialog({ user, etag, onClose, onDone }: { user: User; etag?: string; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<unknown>();
  const submit = async (e: Event) => {
    e.preventDefault();
    try {
      await del(of(user.username), etag);
      notify(t("users.removed", { name: user.username }));
      onDone();
    } catch (err) {
      setError(err);
    }
  };
  return (
    <Dialog title={t("users.remove", { name: user.username })} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <p>{t("users.removeAbout")}</p>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer><span class="spring" /><button type="button" autofocus onClick={onClose}>{t("cancel")}</button><button class="strong">{t("users.removeNow")}</button></footer>
      </form>
    </Dialog>
  );
}

type Opened = { kind: "add" } | { kind: "change" | "remove"; user: User; etag?: string };

function Accounts() {
  const [list, setList] = useState<User[]>([]);
  const [total, setTotal] = useState<number>();
  const [shown, setShown] = useState(1); // pages
  const [error, setError] = useState<unknown>();
  const [opened, setOpened] = useState<Opened>();
  const read = async (pages: number) => {
    try {
      const all: User[] = [];
      let n = 0;
      for (let page = 1; page <= pages; page++) {
        const a = await get<components["schemas"]["UserPage"]>(path, { page, pageSize: 500 });
        all.push(...a.items);
        n = a.totalCount;
      }
      setList(all);
      setTotal(n);
      setError(undefined);
    } catch (err) {
      setError(err);
    }
  };
  useEffect(() => void read(shown), [shown]);
  // What is changed is the account as it is now, and only if nobody else changes it meanwhile.
  const open = async (kind: "change" | "remove", u: User) => {
    try {
      const { value, etag } = await getTagged<User>(of(u.username));
      setOpened({ kind, user: value, etag });
    } catch (err) {
      notify(problemText(err), true);
      void read(shown);
    }
  };
  const close = () => setOpened(undefined);
  const done = () => {
    close();
    void read(shown);
  };
  return (
    <>
      <div class="tools">
        <button type="button" class="primary" onClick={() => setOpened({ kind: "add" })}>{t("users.add")}</button>
        <span class="quiet counted" role="status">{total === undefined ? t("loading") : t("users.count", { n: count(total) })}</span>
      </div>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="users-title">
        <table class="plain wide">
          <thead><tr><th>{t("username")}</th><th>{t("users.role")}</th><th>{t("users.state")}</th><th>{t("users.lastSignIn")}</th><th>{t("users.created")}</th><th><span class="sr">{t("users.actions")}</span></th></tr></thead>
          <tbody>
            {list.map((u) => (
              <tr key={u.username}>
                <th scope="row">{u.username}{u.username === session.value?.username && <> <em>{t("users.you")}</em></>}</th>
                <td data-label={t("users.role")}>{u.roles.map((r) => word("role", r)).join(", ")}</td>
                <td data-label={t("users.state")}><span class={`state${u.enabled ? "" : " off"}`}>{t(u.enabled ? "users.enabled" : "users.disabled")}</span></td>
                <td data-label={t("users.lastSignIn")} class="figure">{when(u.lastSignIn)}</td>
                <td data-label={t("users.created")} class="figure">{when(u.createdAt)}</td>
                <td class="actions">
                  <button type="button" aria-label={t("users.change", { name: u.username })} onClick={() => void open("change", u)}>{t("users.edit")}</button>
                  <button type="button" aria-label={t("users.remove", { name: u.username })} onClick={() => void open("remove", u)}>{t("users.removeNow")}</button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {list.length < (total ?? 0) && <p class="empty"><button type="button" onClick={() => setShown(shown + 1)}>{t("users.more")}</button></p>}
      </div>
      {opened?.kind === "add" && <UserDialog onClose={close} onDone={done} />}
      {opened?.kind === "change" && <UserDialog user={opened.user} etag={opened.etag} onClose={close} onDone={done} />}
      {opened?.kind === "remove" && <RemoveDialog user={opened.user} etag={opened.etag} onClose={close} onDone={done} />}
    </>
  );
}

export default function Users() {
  const sessions = route.value[1] === "sessions";
  return (
    <section class="panel fill" aria-labelledby="users-title">
      <header class="tools">
        <h1 id="users-title">{t("users")}</h1>
        <nav class="segments" aria-label={t("view")}>
          <a href={href("users")} aria-current={sessions ? undefined : "page"}>{t("users.accounts")}</a>
          <a href={href("users", "sessions")} aria-current={sessions ? "page" : undefined}>{t("sessions")}</a>
        </nav>
      </header>
      {sessions ? <SessionTable all labelled="users-title" /> : <Accounts />}
    </section>
  );
}

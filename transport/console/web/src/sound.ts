import { effect, signal } from "@preact/signals";
import { needsAck, onArrival, summary } from "./alarmstore";

/** Whether alarms are heard in this browser. */
export const soundOn = signal(localStorage.getItem("otkit.sound") !== "off");
/** The horn sounds until somebody silences it or acknowledges what it sounds for. */
export const sounding = signal(false);
/** The browser lets a page be heard only after the first click in it. */
export const blocked = signal(false);

let context: AudioContext | undefined;
let timer: ReturnType<typeof setInterval> | undefined;

function beep(): void {
  if (!soundOn.peek()) return;
  context ??= new AudioContext();
  if (context.state === "suspended") {
    blocked.value = true;
    void context.resume().then(() => (blocked.value = false));
    return;
  }
  blocked.value = false;
  const grave = summary.peek().gravest?.severity === "Critical";
  for (const [i, hertz] of (grave ? [880, 660, 880] : [660, 520]).entries()) {
    const at = context.currentTime + i * 0.18;
    const tone = context.createOscillator();
    const gain = context.createGain();
    tone.frequency.value = hertz;
    gain.gain.setValueAtTime(0, at);
    gain.gain.linearRampToValueAtTime(0.12, at + 0.02);
    gain.gain.setValueAtTime(0.12, at + 0.13);
    gain.gain.linearRampToValueAtTime(0, at + 0.16);
    tone.connect(gain).connect(context.destination);
    tone.start(at);
    tone.stop(at + 0.17);
  }
}

export function setSound(on: boolean): void {
  soundOn.value = on;
  localStorage.setItem("otkit.sound", on ? "on" : "off");
  if (!on) silence();
}

/** Ends the horn; the next alarm starts it again. It acknowledges nothing. */
export function silence(): void {
  sounding.value = false;
  clearInterval(timer);
  timer = undefined;
}

export function startSound(): void {
  onArrival((a) => {
    if (a.severity === "Info" || !needsAck(a) || !soundOn.peek()) return;
    sounding.value = true;
    if (!timer) {
      beep();
      timer = setInterval(beep, 4000);
    }
  });
  effect(() => {
    const u = summary.value.unacknowledged;
    if (u.Critical + u.Warning === 0 && sounding.peek()) silence();
  });
}

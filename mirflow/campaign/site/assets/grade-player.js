/** Recordings that graders listen to: one plays at a time, and all are equally loud. */

let context = null;
const channel = new BroadcastChannel("mirflow-grading-sound");

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

export function make(tag, values, ...children) {
  const node = Object.assign(document.createElement(tag), values);
  node.append(...children);
  return node;
}

/** A recording with a button, a slider for the position and the time; made of a box with an `audio` element and, as data, the gain from 0 to 1. */
class Player {
  constructor(box, log) {
    const { gain = 1, name, seconds = NaN } = box.dataset;
    // Nothing is loaded before it is played: the server knows the length.
    const audio = box.querySelector("audio");
    Object.assign(this, { box, log, name, audio, gain: Number(gain), seconds: Number(seconds) });
    audio.controls = false;
    this.button = make("button", { type: "button", className: "play", onclick: () => this.toggle() });
    this.position = make("input", { type: "range", min: "0", max: "100", step: "0.1", value: "0", ariaLabel: `Position in ${name}`,
      oninput: () => this.seek(Number(this.position.value)) });
    this.time = make("span", { className: "time" });
    const parts = ["First", "Middle", "Last"].map((part, number) => make("button", { type: "button", className: "part",
      ariaLabel: `${part} third of ${name}`, textContent: `${number + 1}/3`, onclick: () => this.playPart(number) }));
    this.box.append(this.button, this.position, this.time, ...parts);
    for (const kind of ["play", "pause", "ended", "timeupdate", "durationchange"]) audio.addEventListener(kind, () => this.show());
    audio.addEventListener("error", () => this.fail());
    audio.addEventListener("playing", () => this.log("played", this));
    audio.addEventListener("pause", () => this.log("paused", this));
    audio.addEventListener("timeupdate", () => this.onheard());
    audio.addEventListener("ended", () => {
      this.whole = true;
      this.onheard();
    });
    this.show();
  }

  whole = false;
  connected = false;
  timer = 0;
  /** Whether the server could not be reached, as opposed to a problem of the recording. */
  away = false;
  onheard = () => {};
  onreach = () => {};

  /** Distinguish an unplayable recording from an unavailable server, which cause the same error. */
  async fail() {
    this.reach(navigator.onLine);
    const { status } = await fetch(this.audio.src, { method: "HEAD", cache: "no-store" }).catch(() => ({ status: 503 }));
    this.reach(status < 500 && status !== 429);
    if (!this.away) return;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.retry(), 5000);
  }

  /** Reload the recording when the server is available again. */
  retry() {
    window.clearTimeout(this.timer);
    if (!this.away) return;
    this.audio.preload = "metadata";
    this.audio.load();
    this.reach(true);
  }

  reach(reached) {
    this.away = !reached;
    this.show();
    this.onreach();
  }

  /** Seconds played; a recording played to its end counts as long enough. */
  heard(enough) {
    const { played, duration } = this.audio;
    const seconds = Array.from({ length: played.length }, (_, at) => played.end(at) - played.start(at)).reduce((sum, one) => sum + one, 0);
    return this.whole && seconds > duration * 0.9 ? Math.max(seconds, enough) : seconds;
  }

  get playing() {
    return !this.audio.paused;
  }

  toggle() {
    if (this.playing) this.audio.pause();
    else this.play();
  }

  play() {
    if (this.away) this.retry();
    for (const other of players) if (other !== this) other.audio.pause();
    channel.postMessage("playing");
    if (!this.connected && this.gain !== 1) {
      // The sound goes through a gain node.
      this.connected = true;
      context ??= new AudioContext();
      context.resume();
      const gain = context.createGain();
      gain.gain.value = this.gain;
      context.createMediaElementSource(this.audio).connect(gain).connect(context.destination);
    }
    this.audio.play().catch(() => this.show());
  }

  seek(seconds) {
    this.audio.currentTime = Math.min(seconds, this.audio.duration || 0);
    this.log("seeked", this);
  }

  /** Play from the beginning of the first, middle or last third; the length is only known once some of it was loaded. */
  playPart(number) {
    const go = () => this.seek((number * this.audio.duration) / 3);
    if (Number.isFinite(this.audio.duration)) go();
    else this.audio.addEventListener("durationchange", go, { once: true });
    if (!this.playing) this.play();
  }

  show() {
    const { audio, name } = this;
    const known = Number.isFinite(audio.duration);
    const length = known ? audio.duration : this.seconds;
    const whole = Number.isFinite(length) ? clock(length) : "";
    this.button.textContent = this.playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", `${this.playing ? "Pause" : "Play"} ${name}`);
    this.position.disabled = !known;
    if (known) this.position.max = String(audio.duration);
    this.position.value = String(audio.currentTime);
    this.position.setAttribute("aria-valuetext", `${clock(audio.currentTime)} of ${whole || "an unknown length"}`);
    this.time.textContent = this.away ? "no connection: it is tried again" : audio.error ? "cannot be played" : `${clock(audio.currentTime)}${whole && ` / ${whole}`}`;
  }
}

const players = [];
window.addEventListener("online", () => players.forEach((player) => player.retry()));
channel.onmessage = () => players.forEach((player) => player.audio.pause());

export function makePlayers(root, log) {
  for (const box of root.querySelectorAll("[data-player]")) players.push(new Player(box, log));
  return players;
}

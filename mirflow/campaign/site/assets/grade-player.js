/** Recordings that graders listen to: one plays at a time, and all are equally loud. */

/** @type {AudioContext | null} */
let context = null;
const channel = "BroadcastChannel" in window ? new BroadcastChannel("mirflow-grading-sound") : null;

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** Seconds played, each counted once. */
function heardOf(audio) {
  let seconds = 0;
  for (let at = 0; at < audio.played.length; at++) seconds += audio.played.end(at) - audio.played.start(at);
  return seconds;
}

/** A recording with a button, a slider for the position and the time; made of an `audio` element with its own controls. */
export class Player {
  /**
   * @param {HTMLElement} box holds an `audio` element; `data-gain`: factor from 0 to 1; `data-name`: for people
   * @param {(kind: string, player: Player) => void} log
   */
  constructor(box, log) {
    this.box = box;
    this.audio = box.querySelector("audio");
    this.gain = Number(box.dataset.gain || 1);
    this.name = box.dataset.name;
    this.log = log;
    this.whole = false;
    /** The length as the server knows it; nothing is loaded before it is played. */
    this.seconds = Number(box.dataset.seconds || NaN);
    /** @type {() => void} */
    this.onheard = () => {};
    /** @type {() => void} */
    this.onreach = () => {};
    this.connected = false;
    this.timer = 0;
    /** Whether the server could not be reached, as opposed to a problem of the recording. */
    this.away = false;
    this.make();
  }

  make() {
    const { audio, name } = this;
    audio.controls = false;
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.className = "play";
    this.position = document.createElement("input");
    Object.assign(this.position, { type: "range", min: "0", max: "100", step: "0.1", value: "0" });
    this.position.setAttribute("aria-label", `Position in ${name}`);
    this.time = document.createElement("span");
    this.time.className = "time";
    const parts = ["First", "Middle", "Last"].map((part, number) => {
      const made = Object.assign(document.createElement("button"), { type: "button", className: "part", textContent: `${number + 1}/3` });
      made.setAttribute("aria-label", `${part} third of ${name}`);
      made.addEventListener("click", () => this.playPart(number));
      return made;
    });
    this.box.append(this.button, this.position, this.time, ...parts);
    this.button.addEventListener("click", () => this.toggle());
    this.position.addEventListener("input", () => this.seek(Number(this.position.value)));
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

  /** Distinguish an unplayable recording from an unavailable server, which cause the same error. */
  async fail() {
    this.reach(navigator.onLine);
    try {
      const answer = await fetch(this.audio.src, { method: "HEAD", cache: "no-store" });
      this.reach(answer.status < 500 && answer.status !== 429);
    } catch {
      this.reach(false);
    }
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
    const seconds = heardOf(this.audio);
    return this.whole && seconds > this.audio.duration * 0.9 ? Math.max(seconds, enough) : seconds;
  }

  get playing() {
    return !this.audio.paused;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.away) this.retry();
    for (const other of players) if (other !== this) other.pause();
    channel?.postMessage("playing");
    this.connect();
    this.audio.play().catch(() => this.show());
  }

  pause() {
    if (this.playing) this.audio.pause();
  }

  seek(seconds) {
    this.audio.currentTime = Math.min(seconds, this.audio.duration || 0);
    this.log("seeked", this);
  }

  /**
   * Play from the beginning of the first, middle or last third; the length is only known once some of it was loaded.
   * @param {number} number 0, 1 or 2
   */
  playPart(number) {
    const go = () => this.seek((number * this.audio.duration) / 3);
    if (Number.isFinite(this.audio.duration)) go();
    else this.audio.addEventListener("durationchange", go, { once: true });
    if (!this.playing) this.play();
  }

  /** Route the sound through a gain node; without Web Audio, use the element's volume. */
  connect() {
    if (this.connected || this.gain === 1) return;
    this.connected = true;
    if (!("AudioContext" in window)) {
      this.audio.volume = this.gain;
      return;
    }
    context ??= new AudioContext();
    context.resume();
    const gain = context.createGain();
    gain.gain.value = this.gain;
    context.createMediaElementSource(this.audio).connect(gain).connect(context.destination);
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

/** @type {Player[]} */
const players = [];
window.addEventListener("online", () => players.forEach((player) => player.retry()));
if (channel) channel.onmessage = () => players.forEach((player) => player.pause());

/** Make the players of a page. */
export function makePlayers(root, log) {
  for (const box of root.querySelectorAll("[data-player]")) players.push(new Player(box, log));
  return players;
}

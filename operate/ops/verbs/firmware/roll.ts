// The devices of a roll: which of them are done, under way, and not begun.

import { ServiceUnavailable } from '#core/clients/http.ts';
import { componentImageAnswer } from '#core/contracts/api/programs.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import type { Api } from '#operate/ops/api.ts';
import { CommandFailed, exitCodes, type Waiting } from '#operate/ops/verb.ts';
import {
  type Firmware,
  listFirmware,
  lookEveryMs,
  type Progress,
  progressOf,
  readFirmware,
  requestProgram,
  type Wanted,
} from './programs.ts';

const imageOf = answer(componentImageAnswer, 'version');

/** After a fault a device is healthy again after ten minutes without one, and a report. */
const settleMs = 30 * 60_000;

/** A roll of hours goes on after an outage of the service: looks in a row that may fail. */
const outagesMax = 120;

export interface Place {
  readonly device: string;
  readonly host: string;
}

interface Failure extends Place {
  /** `start`: the API has refused the program. */
  readonly step: 'start' | 'program' | 'health';
  readonly reason: string;
}

interface Started {
  readonly row: Firmware;
  /** What was said of it last. */
  said?: string;
  /** When the program was first seen to have succeeded. */
  endedAtMs?: number;
}

export interface Outcome {
  readonly version: string;
  /** Devices that ran the version before. */
  readonly current: readonly Firmware[];
  readonly done: readonly Firmware[];
  readonly underWay: readonly Firmware[];
  readonly left: readonly Firmware[];
  readonly failures: readonly Failure[];
}

export class Roll {
  readonly #api: Api;
  readonly #input: Input;
  readonly #waiting: Waiting;
  readonly #wanted: Wanted;
  /** Devices that ran the version before. */
  readonly #current: Firmware[] = [];
  #waits: Firmware[] = [];
  readonly #started = new Map<string, Started>();
  readonly #done: Firmware[] = [];
  /** Several devices may fail between two looks. */
  readonly #failures: Failure[] = [];

  private constructor(
    api: Api,
    input: Input,
    waiting: Waiting,
    wanted: Wanted,
    rows: readonly Firmware[],
  ) {
    this.#api = api;
    this.#input = input;
    this.#waiting = waiting;
    this.#wanted = wanted;
    for (const row of rows) {
      const { is } = progressOf(row, wanted);
      if (is === 'done') this.#current.push(row);
      else if (is === 'under-way' || is === 'unhealthy')
        this.#started.set(row.device_uuid, { row });
      else this.#waits.push(row);
    }
  }

  static async begin(api: Api, input: Input, waiting: Waiting): Promise<Roll> {
    const [model, component] = [input.argument('model'), input.argument('component')];
    const image = input.required('image');
    const path = `/operator/v1/firmware/images/${encodeURIComponent(image)}`;
    const query = { model, component };
    const { version } = await api.ask('GET', path, imageOf, { query });
    const all = await listFirmware(api, { model, host: input.text('host') });
    const rows = all
      .filter(({ components }) => components.some(({ name }) => name === component))
      .sort((one, other) => (placeText(one) < placeText(other) ? -1 : 1));
    if (rows.length === 0) {
      throw new CommandFailed(
        exitCodes.failed,
        `No device of ${model} has a component ${component}.`,
      );
    }
    return new Roll(api, input, waiting, { component, image, version }, rows);
  }

  async run(): Promise<void> {
    let outages = 0;
    for (;;) {
      const before = this.#started.size;
      try {
        await this.#startSome();
        if (!this.#hasFailed) await this.#lookAtStarted();
        outages = 0;
      } catch (error) {
        outages += 1;
        if (!(error instanceof ServiceUnavailable) || outages > outagesMax) throw error;
        this.#waiting.say(`${error.message}; asking again`);
      }
      if (this.#hasFailed || this.#started.size + this.#waits.length === 0) return;
      if (this.#started.size >= before) await this.#waiting.sleep(lookEveryMs);
    }
  }

  /** Starts programs until enough are under way, one of a host at a time. */
  async #startSome(): Promise<void> {
    const atOnce = Number(this.#input.text('at-once') ?? 1);
    const { component, image } = this.#wanted;
    const drains = this.#input.has('drain');
    for (const row of [...this.#waits]) {
      const hosts = [...this.#started.values()].map((each) => each.row.hostname);
      if (hosts.length >= atOnce) return;
      if (hosts.includes(row.hostname)) continue;
      try {
        await requestProgram(this.#api, row, { component, image, drains });
      } catch (error) {
        if (!(error instanceof CommandFailed) || error.exitCode !== exitCodes.failed) throw error;
        this.#fail(row, 'start', error.message);
        return;
      }
      this.#waits = this.#waits.filter((each) => each !== row);
      this.#started.set(row.device_uuid, { row, said: 'started' });
      this.#say(row, 'program requested');
    }
  }

  async #lookAtStarted(): Promise<void> {
    for (const started of this.#started.values()) {
      const row = await readFirmware(this.#api, started.row.device_uuid);
      this.#judge(started, progressOf(row, this.#wanted));
    }
  }

  #judge(started: Started, progress: Progress): void {
    const { row } = started;
    switch (progress.is) {
      case 'done':
        this.#started.delete(row.device_uuid);
        this.#done.push(row);
        this.#say(row, `runs ${this.#wanted.version}`);
        break;
      case 'failed':
        this.#fail(row, 'program', progress.reason);
        break;
      case 'open':
        this.#fail(row, 'program', 'Another program of the component has replaced this one.');
        break;
      case 'under-way':
        this.#note(started, progress.state);
        break;
      case 'unhealthy':
        this.#settle(started, `The device ${progress.reason.replace(/\.$/, '')}.`);
        break;
      case 'behind':
        this.#settle(started, `Its host reports version ${progress.runs}.`);
        break;
    }
  }

  /** The report that follows a program may come a while later. */
  #settle(started: Started, obstacle: string): void {
    const nowMs = this.#waiting.clock();
    started.endedAtMs ??= nowMs;
    this.#note(started, `programmed; ${obstacle}`);
    if (nowMs - started.endedAtMs >= settleMs) this.#fail(started.row, 'health', obstacle);
  }

  #note(started: Started, text: string): void {
    if (started.said !== text) this.#say(started.row, text);
    started.said = text;
  }

  #say(row: Firmware, text: string): void {
    this.#waiting.say(`${row.device_uuid} of ${row.hostname}: ${text}`);
  }

  #fail(row: Firmware, step: Failure['step'], reason: string): void {
    this.#started.delete(row.device_uuid);
    this.#waits = this.#waits.filter((each) => each !== row);
    this.#failures.push({ ...toPlace(row), step, reason });
  }

  get outcome(): Outcome {
    return {
      version: this.#wanted.version,
      current: this.#current,
      done: this.#done,
      underWay: [...this.#started.values()].map(({ row }) => row),
      left: this.#waits,
      failures: this.#failures,
    };
  }

  get #hasFailed(): boolean {
    return this.#failures.length > 0;
  }
}

export function toPlace(row: Firmware): Place {
  return { device: row.device_uuid, host: row.hostname };
}

const placeText = ({ hostname, device_uuid }: Firmware) => `${hostname} ${device_uuid}`;

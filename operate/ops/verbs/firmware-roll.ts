// Brings all devices of a model to an image, some at a time. Nothing of a roll is stored: which
// devices are done is what they run, so a roll that was ended is started again and goes on.

import { type Column, tableLines } from '#core/command-line/columns.ts';
import { componentImageAnswer } from '#core/contracts/api/programs.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import type { Api } from '#operate/ops/api.ts';
import { flag, optionOf } from '#operate/ops/options.ts';
import {
  type ApiVerb,
  CommandFailed,
  exitCodes,
  type Shown,
  type Waiting,
} from '#operate/ops/verb.ts';
import { drainOption, imageOption, oneComponent, oneModel } from './firmware.ts';
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
import { counted } from './shown.ts';

const imageOf = answer(componentImageAnswer, 'version');

/** After a fault a device is healthy again after ten minutes without one, and a report. */
const settleMs = 30 * 60_000;

export const rollVerb: ApiVerb = {
  path: ['firmware', 'roll'],
  summary: 'programs all devices of a model, one of a host at a time; stops at the first failure',
  arguments: [oneModel, oneComponent],
  options: {
    image: imageOption,
    'at-once': {
      ...optionOf('number', 'devices that are programmed at the same time; 1 without it'),
      reads: 'count',
    },
    drain: drainOption,
    host: optionOf('host', 'only devices of this host'),
    'dry-run': flag('shows what it would do with each device, and changes nothing'),
  },
  example:
    'cyborg-ops firmware roll 8086:0b30 bmc --image 0f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b --at-once 2 --drain',
  async ask(api, input, waiting) {
    const roll = await Roll.begin(api, input, waiting);
    if (input.has('dry-run')) return roll.planned();
    await roll.run();
    return roll.shown();
  },
};

interface Place {
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

class Roll {
  readonly #api: Api;
  readonly #input: Input;
  readonly #waiting: Waiting;
  readonly #wanted: Wanted;
  /** Devices that ran the version before. */
  readonly #current: Firmware[] = [];
  #waits: Firmware[] = [];
  readonly #started = new Map<string, Started>();
  readonly #done: Firmware[] = [];
  /** Devices that failed between two looks at all. */
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
    for (;;) {
      await this.#startSome();
      if (this.#hasFailed) return;
      const before = this.#started.size;
      await this.#lookAtStarted();
      if (this.#hasFailed || this.#started.size + this.#waits.length === 0) return;
      if (this.#started.size === before) await this.#waiting.sleep(lookEveryMs);
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

  /** What it would do with each device. */
  planned(): Shown {
    const { component, version } = this.#wanted;
    const rows: PlannedRow[] = [
      ...this.#waits.map((row) => ({ row, plan: `program ${version}` })),
      ...[...this.#started.values()].map(({ row }) => ({ row, plan: 'wait: is programmed' })),
      ...this.#current.map((row) => ({ row, plan: 'nothing: runs it' })),
    ].map(({ row, plan }) => ({
      ...toPlace(row),
      runs: row.components.find(({ name }) => name === component)?.version,
      plan,
    }));
    const sentence = `${counted(this.#waits.length, 'device')} of ${rows.length} to program with ${component} ${version}; nothing changed.`;
    return {
      json: { version, devices: rows },
      lines: (width) => [...tableLines(plannedColumns, rows, width), sentence],
    };
  }

  shown(): Shown {
    const { version } = this.#wanted;
    const started = [...this.#started.values()].map(({ row }) => row);
    const json = {
      version,
      current: this.#current.map(toPlace),
      done: this.#done.map(toPlace),
      failed: this.#failures,
      under_way: started.map(toPlace),
      left: this.#waits.map(toPlace),
    };
    const runs = this.#current.length + this.#done.length;
    const sentence = `${counted(runs, 'device')} with ${version}: ${this.#done.length} programmed, ${this.#current.length} before.`;
    return {
      json,
      lines: () => [sentence, ...this.#stopLines(started)],
      exitCode: this.#hasFailed ? 1 : 0,
    };
  }

  #stopLines(started: readonly Firmware[]): readonly string[] {
    if (!this.#hasFailed) return [];
    const others = started.map((row) => row.device_uuid).join(', ');
    return [
      ...this.#failures.map(
        ({ device, host, step, reason }) =>
          `Stopped: device ${device} of host ${host} failed at step ${step}: ${reason}`,
      ),
      ...(others ? [`Still being programmed: ${others}.`] : []),
      ...(this.#waits.length > 0 ? [`Not begun: ${counted(this.#waits.length, 'device')}.`] : []),
    ];
  }

  get #hasFailed(): boolean {
    return this.#failures.length > 0;
  }
}

type PlannedRow = Place & { readonly runs: string | undefined; readonly plan: string };

const plannedColumns: readonly Column<PlannedRow>[] = [
  { title: 'device', of: ({ device }) => device, isWhole: true },
  { title: 'host', of: ({ host }) => host, isWhole: true },
  { title: 'runs', of: ({ runs }) => runs, isWhole: true },
  { title: 'plan', of: ({ plan }) => plan, isWhole: true },
];

function toPlace(row: Firmware): Place {
  return { device: row.device_uuid, host: row.hostname };
}

const placeText = ({ hostname, device_uuid }: Firmware) => `${hostname} ${device_uuid}`;

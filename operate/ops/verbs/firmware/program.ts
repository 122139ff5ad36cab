// Components of devices: what they must run, and programs of them.

import * as z from 'zod';
import { deployableAnswer } from '#core/contracts/api/deployables.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import { flag, required } from '#operate/ops/arguments/options.ts';
import { shownDone } from '#operate/ops/output/shown.ts';
import type { ApiVerb, Argument, Shown, Waiting } from '#operate/ops/verb.ts';
import { rowAnswer } from '#operate/ops/verbs/lists/list-columns.ts';
import { lookEveryMs, readFirmware, requestProgram } from './programs.ts';

const baseline = rowAnswer('baselines');
const region = answer(deployableAnswer, 'uuid', 'program');

export const oneModel: Argument = {
  name: 'model',
  help: 'vendor and product of the devices, such as 8086:0b30',
};
export const oneComponent: Argument = {
  name: 'component',
  help: 'the part of the device, such as bmc or shell',
};
export const imageOption = required('uuid', "the image's uuid in Glance");
export const drainOption = flag(
  'disable a device in use, and program it when its servers have gone',
);
const waitOption = flag('wait for the end; the exit code is 1 if the program fails');

const baselinePath = (input: Input) => {
  const id = `${input.argument('model')}:${input.argument('component')}`;
  return `${lists.baselines.path}/${encodeURIComponent(id)}`;
};

export const firmwareVerbs: readonly ApiVerb[] = [
  {
    path: ['firmware', 'program'],
    summary: 'programs a component of a device, its shell included',
    arguments: [{ name: 'device', help: "the device's uuid" }, oneComponent],
    options: { image: imageOption, drain: drainOption, wait: waitOption },
    example:
      'cyborg-ops firmware program 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 bmc --image 0f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b --wait',
    async ask(api, input, waiting) {
      const [device, component] = [input.argument('device'), input.argument('component')];
      const image = input.required('image');
      const row = await readFirmware(api, device);
      await requestProgram(api, row, { component, image, drains: input.has('drain') });
      const read = async () => {
        const { programs } = await readFirmware(api, device);
        return programs.find(({ what }) => what === component);
      };
      return await shownProgram(`${component} of ${device}`, read, input, waiting);
    },
  },
  {
    path: ['regions', 'program'],
    summary: 'programs a region of an FPGA with a bitstream',
    arguments: [{ name: 'region', help: "the uuid of the region's deployable" }],
    options: { image: imageOption, wait: waitOption },
    example:
      'cyborg-ops regions program 6a0f3c1d-7b52-5e0e-9a3b-0a6f3b0c7d11 --image 0f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b --wait',
    async ask(api, input, waiting) {
      const id = input.argument('region');
      const path = `/v2/deployables/${encodeURIComponent(id)}`;
      const change = { op: 'add', path: '/bitstream', value: input.required('image') };
      await api.ask('PATCH', path, z.unknown(), { body: [change] });
      const read = async () => (await api.ask('GET', path, region)).program;
      return await shownProgram(`Region ${id}`, read, input, waiting);
    },
  },
  {
    path: ['firmware', 'baseline set'],
    summary: 'the version that a component of all devices of a model must run; programs nothing',
    arguments: [oneModel, oneComponent, { name: 'version', help: 'as its driver reports it' }],
    example: 'cyborg-ops firmware baseline set 8086:0b30 bmc 2.0.4',
    async ask(api, input) {
      const body = { version: input.argument('version') };
      const set = await api.ask('PUT', baselinePath(input), baseline, { body });
      const sentence = `${set.component} of ${set.model} must run ${set.version}.`;
      return shownDone(`${sentence} \`cyborg-ops incidents\` names devices that differ.`, set);
    },
  },
  {
    path: ['firmware', 'baseline unset'],
    summary: 'removes a baseline',
    arguments: [oneModel, oneComponent],
    example: 'cyborg-ops firmware baseline unset 8086:0b30 bmc',
    async ask(api, input) {
      const answer = await api.ask('DELETE', baselinePath(input), z.unknown());
      const [model, component] = [input.argument('model'), input.argument('component')];
      return shownDone(`${component} of ${model} has no baseline.`, answer);
    },
  },
];

interface ProgramState {
  readonly state?: string | undefined;
  readonly reason?: string | null | undefined;
}

const moving = ['draining', 'started'];

async function shownProgram(
  what: string,
  read: () => Promise<ProgramState | null | undefined>,
  input: Input,
  { sleep, say }: Waiting,
): Promise<Shown> {
  let program = await read();
  let said: string | undefined;
  while (input.has('wait') && moving.includes(program?.state ?? '')) {
    if (program?.state !== said) say(`${what}: ${program?.state}`);
    said = program?.state;
    await sleep(lookEveryMs);
    program = await read();
  }
  const { state = 'ended', reason } = program ?? {};
  const sentence = reason ? `${what}: ${state}: ${reason}` : `${what}: ${state}.`;
  return { ...shownDone(sentence, program), exitCode: state === 'failed' ? 1 : 0 };
}

// Rules that keep all devices like these from new binds, also those that come later.

import * as z from 'zod';
import { holdDetailAnswer } from '#core/contracts/api/devices.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import { optionOf, required } from '#operate/ops/arguments/options.ts';
import { counted, shownDone, shownOne } from '#operate/ops/output/shown.ts';
import type { ApiVerb, Argument } from '#operate/ops/verb.ts';
import { wrongUsage } from '#operate/ops/verb.ts';
import { listColumns, rowAnswer } from './lists/list-columns.ts';

const holdsPath = '/operator/v1/holds';
const oneHold: Argument = { name: 'hold', help: "the hold's id, as the list shows it" };
const pathOf = (input: Input) => `${holdsPath}/${encodeURIComponent(input.argument('hold'))}`;
const created = rowAnswer('holds');
const detail = answer(holdDetailAnswer, 'id');

const selectors = {
  model: optionOf('model', 'vendor and product, such as 10de:20b5'),
  firmware: optionOf('range', "versions: '<1.2', or '>=1.0,<1.2'"),
  vendor: optionOf('id', 'vendor, such as 10de'),
  type: optionOf('type', 'such as GPU or FPGA'),
  driver: optionOf('name', "the agent's driver"),
  host: optionOf('host', 'only on this host'),
} as const;

export const holdVerbs: readonly ApiVerb[] = [
  {
    path: ['devices', 'hold'],
    summary: 'no new binds of all devices that match, also of later ones; what is bound stays',
    options: {
      ...selectors,
      reason: required('text', 'why; operators see it at each device'),
      until: {
        ...optionOf('time', 'when it ends by itself: 2030-12-01T06:00:00Z, or 4h'),
        reads: 'time-after',
      },
    },
    example:
      "cyborg-ops devices hold --model 10de:20b5 --firmware '<1.2' --reason 'it resets itself' --until 7d",
    async ask(api, input) {
      const { model, firmware, vendor, type, driver, host } = Object.fromEntries(
        Object.keys(selectors).map((name) => [name, input.text(name)]),
      );
      const selector = present({ model, firmware, vendor, type, driver, hostname: host });
      if (Object.keys(selector).length === 0) {
        const names = Object.keys(selectors).map((name) => `--${name}`);
        throw wrongUsage(`at least one of ${names.join(', ')} must be there`);
      }
      const body = {
        ...selector,
        ...present({ reason: input.text('reason'), until: input.text('until') }),
      };
      const hold = await api.ask('POST', holdsPath, created, { body });
      const { devices } = hold;
      const matching =
        typeof devices === 'number' ? `${counted(devices, 'device')} now` : 'devices';
      const sentence = `${matching}, and those that match later, take no new binds; what is bound stays.`;
      return shownDone(`Hold ${hold.id}: ${sentence}`, hold);
    },
  },
  {
    path: ['holds', 'show'],
    summary: 'a hold, and the devices that match it now',
    arguments: [oneHold],
    example: 'cyborg-ops holds show 6c1f2a52-6e0e-5b1c-9a39-0c1d6a6f3b11',
    async ask(api, input) {
      const hold = await api.ask('GET', pathOf(input), detail);
      const devices = hold.devices?.map(
        ({ device_uuid, hostname }) => `${device_uuid} on ${hostname}`,
      );
      return { ...shownOne(listColumns('holds'), { ...hold, devices } as never), json: hold };
    },
  },
  {
    path: ['holds', 'end'],
    summary: 'ends a hold: new binds again, unless another one matches',
    arguments: [oneHold],
    example: 'cyborg-ops holds end 6c1f2a52-6e0e-5b1c-9a39-0c1d6a6f3b11',
    async ask(api, input) {
      const answered = await api.ask('DELETE', pathOf(input), z.unknown());
      return shownDone(`Hold ${input.argument('hold')} has ended.`, answered);
    },
  },
];

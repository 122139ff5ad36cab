// docs/agent.md: the settings that the chapters of FPGAs show are valid.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { fpgaManagerSettings } from '#agent/drivers/fpga-manager/settings.ts';
import { intelFpgaSettings } from '#agent/drivers/intel-fpga/settings.ts';

it.each([
  ['Intel FPGAs', 'intel_fpga', intelFpgaSettings],
  ['FPGA managers', 'fpga_manager', fpgaManagerSettings],
])('the settings of the chapter %s in docs/agent.md are valid', (title, name, form) => {
  const text = readFileSync(new URL('../../docs/agent.md', import.meta.url), 'utf8');
  const chapter = text.split(/^## /m).find((each) => each.startsWith(title)) ?? '';
  const [, json = ''] = /^```json\n(.*?)^```$/ms.exec(chapter) ?? [];
  const settings = z.record(z.string(), z.unknown()).parse(JSON.parse(json));
  expect(form.safeParse(settings[name]).error).toBeUndefined();
});
